/* Finds the records that an edge connects. */
#include "config.h"

#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/predecessors.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* The index of a record, with its key. */
struct place {
    int64_t key[2]; /* rank and job */
    size_t index;
};

static int by_key(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    for (int i = 0; i < 2; i++)
        if (a->key[i] != b->key[i])
            return mtlm_compare(a->key[i], b->key[i]);
    return 0;
}

static struct place *sort_by_job(const struct mtlm_trace_records *records)
{
    struct place *place = mtlm_calloc(records->n, sizeof(*place));

    for (size_t i = 0; i < records->n; i++)
        place[i] = (struct place){
            {records->record[i].rank, records->record[i].job}, i};
    if (records->n)
        qsort(place, records->n, sizeof(*place), by_key);
    return place;
}

static const struct place *find_record(const struct place *place, size_t n,
                                       int rank, int64_t job)
{
    const struct place key = {{rank, job}, 0};

    return n ? bsearch(&key, place, n, sizeof(*place), by_key) : NULL;
}

static void connect_edges(struct mtlm_trace_predecessors *edges,
                          const struct mtlm_trace_records *records,
                          const struct mtlm_trace_info *info)
{
    struct place *place = sort_by_job(records);
    size_t *from = mtlm_calloc(info->n_edges, sizeof(*from));
    size_t *to = mtlm_calloc(info->n_edges, sizeof(*to)), n = 0;
    size_t *next;

    edges->first = mtlm_calloc(records->n + 2, sizeof(*edges->first));
    next = edges->first + 1; /* equals first after all edges are placed */
    for (size_t e = 0; e < info->n_edges; e++) {
        const struct mtlm_trace_edge *edge = &info->edge[e];
        const struct place *a =
            find_record(place, records->n, edge->rank, edge->job);
        const struct place *b =
            find_record(place, records->n, edge->on_rank, edge->on_job);

        if (!a || !b || a == b)
            continue;
        from[n] = a->index;
        to[n++] = b->index;
        next[a->index + 1]++;
    }
    for (size_t i = 0; i < records->n; i++)
        next[i + 1] += next[i];
    edges->on = mtlm_calloc(n, sizeof(*edges->on));
    for (size_t e = 0; e < n; e++)
        edges->on[next[from[e]]++] = to[e];
    free(place);
    free(from);
    free(to);
}

struct mtlm_trace_predecessors *mtlm_trace_predecessors_create(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info)
{
    struct mtlm_trace_predecessors *edges;

    if (!info->edge)
        return NULL;
    edges = mtlm_calloc(1, sizeof(*edges));
    connect_edges(edges, records, info);
    return edges;
}

void mtlm_trace_predecessors_destroy(struct mtlm_trace_predecessors *edges)
{
    if (!edges)
        return;
    free(edges->first);
    free(edges->on);
    free(edges);
}
