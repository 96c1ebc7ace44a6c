/* starvz.yaml: panels for StarVZ, and the colours of operations. */
#include "config.h"

#include "launch/trace/export/writer.h"
#include "launch/trace/node.h"

/* A row of kiteration is a microbatch and stage: a pipeline shows as
 * diagonals. */
static const char panels[] =
    "base_size: 14\n"
    "expand: 0.01\n"
    "st: {active: TRUE, labels: \"ALL\", legend: TRUE, makespan: TRUE, "
    "outliers: FALSE, idleness: TRUE, alpha: 1}\n"
    "kiteration: {active: TRUE, legend: TRUE, height: 2, subite: TRUE, "
    "pernode: TRUE}\n"
    "ready: {active: TRUE}\n"
    "submitted: {active: TRUE}\n"
    "starpu: {active: FALSE}\n"
    "app_tasks:\n";

void mtlm_trace_write_starvz(FILE *f, const struct mtlm_trace *trace)
{
    const struct mtlm_trace_records *records = trace->records;
    uint32_t color[MTLM_OP_COUNT];
    bool seen[MTLM_OP_COUNT] = {0};

    mtlm_trace_op_colors(records, color);
    fputs(panels, f);
    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (seen[r->op] || r->lane != MTLM_LANE_COMPUTE)
            continue;
        seen[r->op] = true;
        fprintf(f, "  %s: {color: \"#%06X\", use: TRUE}\n",
                mtlm_trace_op_name(r), color[r->op]);
    }
}
