/* schedule.csv: a line per record, for pandas and R. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "launch/trace/export/writer.h"
#include "launch/trace/node.h"

/* Writes text, quoted if RFC 4180 requires. */
static void put_text(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    putc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', f);
        putc(*text, f);
    }
    putc('"', f);
}

static void put_device(FILE *f, const struct mtlm_trace_info *info,
                       const struct mtlm_record *r)
{
    const char *device = mtlm_trace_device(info, r->rank, r->worker);

    if (r->worker < 0)
        fputs("communication", f);
    else if (device)
        put_text(f, device);
    else
        fprintf(f, "worker %d", r->worker);
}

static double us_from_origin(const struct mtlm_trace *trace, int64_t ns)
{
    return 1e-3 * (ns - trace->summary->origin_ns);
}

/* Waiting time and transfer time of a message; empty for other nodes. */
static void put_message(FILE *f, const struct mtlm_record *r, int64_t met_ns)
{
    if (r->lane == MTLM_LANE_COMPUTE)
        fputs(",,", f);
    else
        fprintf(f, ",%.3f,%.3f", 1e-3 * (met_ns - r->start_ns),
                1e-3 * (r->end_ns - met_ns));
}

/* Number of the rank's workers that count; 0: the node ran on another worker.
 */
static size_t count_workers(const struct mtlm_trace_records *records,
                            const struct mtlm_record *r)
{
    if (r->lane == MTLM_LANE_COMPUTE && !mtlm_trace_is_busy(records, r))
        return 0;
    return records->first_worker[r->rank + 1] - records->first_worker[r->rank];
}

void mtlm_trace_write_csv(FILE *f, const struct mtlm_trace *trace)
{
    const struct mtlm_trace_info *info = trace->info;

    fputs("rank,worker,device,iteration,microbatch,stage,chunk,layer,op,name,"
          "job,priority,submit_us,ready_us,start_us,end_us,flops,bytes,peer,"
          "lane,phase,group,group_root,match,wait_us,transfer_us,"
          "workers\n",
          f);
    for (size_t i = 0; i < trace->records->n; i++) {
        const struct mtlm_record *r = &trace->records->record[i];

        fprintf(f, "%d,%d,", r->rank, r->worker);
        put_device(f, info, r);
        fprintf(f, ",%d,%d,%d,%d,%d,%s,", r->iteration + 1, r->microbatch,
                r->stage, mtlm_trace_chunk(info, r), r->layer,
                mtlm_trace_class_name(mtlm_trace_class(r)));
        put_text(f, mtlm_trace_op_name(r));
        fprintf(f, ",%" PRId64 ",%d,%.3f,%.3f,%.3f,%.3f,%.0f,%.0f,%d", r->job,
                r->priority, us_from_origin(trace, r->submit_ns),
                us_from_origin(trace, r->ready_ns),
                us_from_origin(trace, r->start_ns),
                us_from_origin(trace, r->end_ns), r->flops, r->bytes, r->peer);
        fprintf(f, ",%s,%s,%d,%d,%" PRId64, mtlm_trace_lane_name(r->lane),
                mtlm_trace_phase_name(r->phase), r->group, r->group_root,
                r->match);
        put_message(f, r, trace->records->met_ns[i]);
        fprintf(f, ",%zu\n", count_workers(trace->records, r));
    }
}
