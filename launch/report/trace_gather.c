/* Gathers the recorders of all ranks on rank 0. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

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

/* The entries of a recorder, as entries of that rank; the caller frees them. */
static struct mtlm_trace_edge *edges_of(const struct mtlm_recorder *recorder,
                                        int rank, size_t *n)
{
    const struct mtlm_record_edge *mine = mtlm_recorder_edges(recorder, n);
    struct mtlm_trace_edge *edge = mtlm_calloc(*n, sizeof(*edge));

    for (size_t i = 0; i < *n; i++)
        edge[i] = (struct mtlm_trace_edge){rank, rank, mine[i].job, mine[i].on};
    return edge;
}

static struct mtlm_trace_use *uses_of(const struct mtlm_recorder *recorder,
                                      int rank, size_t *n)
{
    const struct mtlm_record_use *mine = mtlm_recorder_uses(recorder, n);
    struct mtlm_trace_use *use = mtlm_calloc(*n, sizeof(*use));

    for (size_t i = 0; i < *n; i++)
        use[i] = (struct mtlm_trace_use){rank, mine[i].data, mine[i].access,
                                         mine[i].job};
    return use;
}

static struct mtlm_trace_data *data_of(const struct mtlm_recorder *recorder,
                                       int rank, size_t *n)
{
    const struct mtlm_record_data *mine = mtlm_recorder_data(recorder, n);
    struct mtlm_trace_data *data = mtlm_calloc(*n, sizeof(*data));

    for (size_t i = 0; i < *n; i++)
        data[i] = (struct mtlm_trace_data){rank, (int32_t) i, mine[i]};
    return data;
}

static void gather_edges(struct mtlm_ranks *ranks,
                         const struct mtlm_recorder *recorder,
                         struct mtlm_gathered *g)
{
    size_t n;
    struct mtlm_trace_edge *edge =
        edges_of(recorder, mtlm_ranks_rank(ranks), &n);

    g->edge = gather_entries(ranks, edge, sizeof(*edge), n, &g->n_edges);
    free(edge);
}

static void gather_uses(struct mtlm_ranks *ranks,
                        const struct mtlm_recorder *recorder,
                        struct mtlm_gathered *g)
{
    size_t n;
    struct mtlm_trace_use *use = uses_of(recorder, mtlm_ranks_rank(ranks), &n);

    g->use = gather_entries(ranks, use, sizeof(*use), n, &g->n_uses);
    free(use);
}

static void gather_data(struct mtlm_ranks *ranks,
                        const struct mtlm_recorder *recorder,
                        struct mtlm_gathered *g)
{
    size_t n;
    struct mtlm_trace_data *data =
        data_of(recorder, mtlm_ranks_rank(ranks), &n);

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
    mtlm_gathered_meet(g);
    return true;
}

/* Appends the n entries to the *all entries of list.  Returns the list. */
static void *append_entries(void *list, size_t *all, const void *entry,
                            size_t size, size_t n)
{
    list = mtlm_realloc(list, *all + n + 1, size);
    if (n > 0)
        memcpy((char *) list + *all * size, entry, n * size);
    *all += n;
    return list;
}

void mtlm_gathered_add(struct mtlm_gathered *g, int rank,
                       const struct mtlm_recorder *recorder)
{
    size_t n;
    const struct mtlm_record *record = mtlm_recorder_records(recorder, &n);
    struct mtlm_trace_edge *edge;
    struct mtlm_trace_use *use;
    struct mtlm_trace_data *data;

    g->record = append_entries(g->record, &g->n, record, sizeof(*record), n);
    edge = edges_of(recorder, rank, &n);
    g->edge = append_entries(g->edge, &g->n_edges, edge, sizeof(*edge), n);
    use = uses_of(recorder, rank, &n);
    g->use = append_entries(g->use, &g->n_uses, use, sizeof(*use), n);
    data = data_of(recorder, rank, &n);
    g->data = append_entries(g->data, &g->n_data, data, sizeof(*data), n);
    free(edge);
    free(use);
    free(data);
}

void mtlm_gathered_meet(struct mtlm_gathered *g)
{
    g->edge = mtlm_trace_edges_between(g->record, g->n, g->edge, &g->n_edges);
}

void mtlm_gathered_forget(struct mtlm_gathered *g)
{
    free(g->edge);
    free(g->use);
    free(g->data);
    *g = (struct mtlm_gathered){.record = g->record, .n = g->n};
}

void mtlm_gathered_free(struct mtlm_gathered *g)
{
    mtlm_gathered_forget(g);
    free(g->record);
}
