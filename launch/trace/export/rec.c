/* tasks.rec and data.rec, for StarVZ and recutils: records of lines
 * "Field: value", separated by empty lines.  StarPU's replay reads the
 * tasks.rec of a merged graph: jobs are plain numbers. */
#include "config.h"

#include <inttypes.h>

#include "codelets/op.h"
#include "launch/trace/export/writer.h"
#include "launch/trace/node.h"

enum { REPLAY_USES = 8 }; /* StarPU's default of STARPU_NMAXBUFS */

static void put_ms(FILE *f, const char *field, int64_t ns)
{
    fprintf(f, "%s: %" PRId64 ".%06d\n", field, ns / 1000000,
            (int) (ns % 1000000));
}

/* Writes a job, "1_25"; of a merged graph "25". */
static void put_job(FILE *f, int rank, int64_t job)
{
    if (rank == MTLM_TRACE_MERGED)
        fprintf(f, "%" PRId64, job);
    else
        mtlm_trace_put_id(f, rank, job);
}

/* Writes data, "1_25"; of a merged graph a number in base 16, from 1. */
static void put_handle(FILE *f, int rank, int64_t data)
{
    if (rank == MTLM_TRACE_MERGED)
        fprintf(f, "%" PRIx64, (uint64_t) data + 1);
    else
        mtlm_trace_put_id(f, rank, data);
}

/* Writes three lists of equal length, one entry per operand.  StarPU 1.4's
 * replay ends at a task of more operands: a merged graph leaves its lists
 * out. */
static void put_uses(FILE *f, const struct mtlm_trace_info *info,
                     const struct mtlm_record *r)
{
    static const char *const mode[] = {
        [MTLM_R] = "R", [MTLM_W] = "W", [MTLM_RW] = "RW"};
    size_t n;
    const struct mtlm_trace_use *use = mtlm_trace_uses(info, r, &n);

    if (n == 0 || (r->rank == MTLM_TRACE_MERGED && n > REPLAY_USES))
        return;
    fputs("Handles:", f);
    for (size_t i = 0; i < n; i++) {
        putc(' ', f);
        put_handle(f, r->rank, use[i].data);
    }
    fputs("\nModes:", f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, " %s", mode[use[i].access]);
    fputs("\nSizes:", f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, " %.0f", mtlm_trace_used(info, &use[i])->bytes);
    putc('\n', f);
}

static void put_edges(FILE *f, const struct mtlm_trace_info *info,
                      const struct mtlm_record *r)
{
    size_t n;
    const struct mtlm_trace_edge *edge = mtlm_trace_edges(info, r, &n);

    if (n == 0)
        return;
    fputs("DependsOn:", f);
    for (size_t i = 0; i < n; i++) {
        putc(' ', f);
        put_job(f, edge[i].on_rank, edge[i].on_job);
    }
    putc('\n', f);
}

/* rank: the task's rank. */
static void put_task(FILE *f, const struct mtlm_trace_info *info,
                     const struct mtlm_record *r, int rank, int64_t first_ns)
{
    const char *name = mtlm_trace_op_name(r);

    fprintf(f, "Name: %s\nModel: %s\nJobId: ", name, name);
    put_job(f, r->rank, r->job);
    fprintf(f, "\nSubmitOrder: %" PRId64 "\nPriority: %d\nTag: 0\n", r->job,
            r->priority);
    fprintf(f, "WorkerId: %d\nMemoryNode: 0\n", r->worker);
    put_ms(f, "SubmitTime", r->submit_ns - first_ns);
    put_ms(f, "StartTime", r->start_ns - first_ns);
    put_ms(f, "EndTime", r->end_ns - first_ns);
    fprintf(f, "Footprint: %08x\nGFlop: %.6f\nIteration: %d\nParameters: ",
            mtlm_trace_footprint(r), r->flops / 1e9, r->iteration + 1);
    mtlm_trace_put_label(f, r);
    putc('\n', f);
    put_uses(f, info, r);
    put_edges(f, info, r);
    fprintf(f, "MPIRank: %d\n\n", rank);
}

void mtlm_trace_write_tasks(FILE *f, const struct mtlm_trace *trace)
{
    const int64_t first_ns = mtlm_trace_first_ns(trace->records);

    for (size_t i = 0; i < trace->records->n; i++) {
        const struct mtlm_record *r = &trace->records->record[i];

        put_task(f, trace->info, r, r->rank, first_ns);
    }
}

void mtlm_trace_write_graph(FILE *f, const void *what)
{
    const struct mtlm_trace_graph *graph = what;

    for (size_t i = 0; i < graph->n; i++)
        put_task(f, graph->info, &graph->record[i], graph->rank[i], 0);
}

void mtlm_trace_write_data(FILE *f, const struct mtlm_trace *trace)
{
    for (size_t i = 0; i < trace->info->n_data; i++) {
        const struct mtlm_trace_data *d = &trace->info->data[i];

        fputs("Handle: ", f);
        mtlm_trace_put_id(f, d->rank, d->data);
        fprintf(f,
                "\nHomeNode: 0\nMPIRank: %d\nName: %s\nSize: %.0f\n"
                "Description: slot %d\nCoordinates: %d %d\nMPIOwner: %d\n"
                "MPITag: -1\n\n",
                d->rank, d->what.name, d->what.bytes, d->what.slot,
                d->what.layer, d->what.slot, d->rank);
    }
}
