/* dag.dot: nodes per rank, and edges, for graphviz and StarVZ, which reads the
 * lines with an arrow. */
#include "config.h"

#include "launch/trace/export/writer.h"
#include "launch/trace/node.h"

static void put_task(FILE *f, int rank, int64_t job)
{
    fputs("\"task_", f);
    mtlm_trace_put_id(f, rank, job);
    putc('"', f);
}

static void put_rank(FILE *f, const struct mtlm_trace_records *records,
                     const uint32_t *color, int rank)
{
    fprintf(f, "subgraph cluster_%d {\n\tlabel=\"rank %d\";\n", rank, rank);
    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *r = &records->record[i];

        putc('\t', f);
        put_task(f, rank, r->job);
        fprintf(f, " [fillcolor=\"#%06x\", label=\"%s\\n", color[r->op],
                mtlm_trace_op_name(r));
        mtlm_trace_put_label(f, r);
        fputs("\"];\n", f);
    }
    fputs("}\n", f);
}

/* An arrow points to the node that waits. */
static void put_edge(FILE *f, const struct mtlm_trace_edge *edge)
{
    putc('\t', f);
    put_task(f, edge->on_rank, edge->on_job);
    fputs("->", f);
    put_task(f, edge->rank, edge->job);
    putc('\n', f);
}

void mtlm_trace_write_dag(FILE *f, const struct mtlm_trace *trace)
{
    uint32_t color[MTLM_OP_COUNT];

    mtlm_trace_op_colors(trace->records, color);
    fputs("digraph G {\n\trankdir=LR;\n\tnode [style=filled];\n", f);
    for (int rank = 0; rank < trace->info->ranks; rank++)
        put_rank(f, trace->records, color, rank);
    for (size_t i = 0; i < trace->info->n_edges; i++)
        put_edge(f, &trace->info->edge[i]);
    fputs("}\n", f);
}
