/* deps.csv: a line per edge, for networkx. */
#include "config.h"

#include "launch/trace/export/writer.h"
#include "launch/trace/node.h"

void mtlm_trace_write_deps(FILE *f, const struct mtlm_trace *trace)
{
    const struct mtlm_trace_info *info = trace->info;

    fputs("job,depends_on\n", f);
    for (size_t i = 0; i < info->n_edges; i++) {
        mtlm_trace_put_id(f, info->edge[i].rank, info->edge[i].job);
        putc(',', f);
        mtlm_trace_put_id(f, info->edge[i].on_rank, info->edge[i].on_job);
        putc('\n', f);
    }
}
