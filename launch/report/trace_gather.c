/* Gathers the recorders of all ranks on rank 0. */
#include "config.h"

#include <stdlib.h>

#include "launch/report/trace_gather.h"
#include "launch/trace/edges.h"
#include "runtime/base/memory.h"

/* Gathers the n entries of each rank on rank 0.  Sets *all to the number of
 * entries of all ranks. */
static void *gather_entries(struct mtlm_ranks *ranks, const void *entry,
                            size_t size, size_t n, size_t *all)
{
    size_t bytes;
    void *gathered = mtlm_ranks_gather(ranks, entry, n * size, &bytes);

    *all = bytes / size;
    return gathered;
}

static void gather_edges(struct mtlm_ranks *ranks,
                         const struct mtlm_recorder *recorder,
                         struct mtlm_gathered *g)
{
    const int rank = mtlm_ranks_rank(ranks);
    size_t n;
    const struct mtlm_record_edge *mine = mtlm_recorder_edges(recorder, &n);
    struct mtlm_trace_edge *edge = mtlm_calloc(n, sizeof(*edge));

    for (size_t i = 0; i < n; i++)
        edge[i] = (struct mtlm_trace_edge){rank, rank, mine[i].job, mine[i].on};
    g->edge = gather_entries(ranks, edge, sizeof(*edge), n, &g->n_edges);
    free(edge);
}

static void gather_uses(struct mtlm_ranks *ranks,
                        const struct mtlm_recorder *recorder,
                        struct mtlm_gathered *g)
{
    const int rank = mtlm_ranks_rank(ranks);
    size_t n;
    const struct mtlm_record_use *mine = mtlm_recorder_uses(recorder, &n);
    struct mtlm_trace_use *use = mtlm_calloc(n, sizeof(*use));

    for (size_t i = 0; i < n; i++)
        use[i] = (struct mtlm_trace_use){rank, mine[i].data, mine[i].access,
                                         mine[i].job};
    g->use = gather_entries(ranks, use, sizeof(*use), n, &g->n_uses);
    free(use);
}

static void gather_data(struct mtlm_ranks *ranks,
                        const struct mtlm_recorder *recorder,
                        struct mtlm_gathered *g)
{
    const int rank = mtlm_ranks_rank(ranks);
    size_t n;
    const struct mtlm_record_data *mine = mtlm_recorder_data(recorder, &n);
    struct mtlm_trace_data *data = mtlm_calloc(n, sizeof(*data));

    for (size_t i = 0; i < n; i++)
        data[i] = (struct mtlm_trace_data){rank, (int32_t) i, mine[i]};
    g->data = gather_entries(ranks, data, sizeof(*data), n, &g->n_data);
    free(data);
}

bool mtlm_trace_gather(struct mtlm_ranks *ranks,
                       const struct mtlm_recorder *recorder,
                       struct mtlm_gathered *g)
{
    size_t n;
    const struct mtlm_record *record = mtlm_recorder_records(recorder, &n);

    *g = (struct mtlm_gathered){0};
    g->record = gather_entries(ranks, record, sizeof(*record), n, &g->n);
    gather_edges(ranks, recorder, g);
    gather_uses(ranks, recorder, g);
    gather_data(ranks, recorder, g);
    if (mtlm_ranks_rank(ranks) != 0)
        return false;
    g->edge = mtlm_trace_edges_between(g->record, g->n, g->edge, &g->n_edges);
    return true;
}

void mtlm_gathered_free(struct mtlm_gathered *g)
{
    free(g->record);
    free(g->edge);
    free(g->use);
    free(g->data);
}
