/* Derives the edges between ranks from the numbers of messages. */
#include "config.h"

#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/edges.h"
#include "launch/trace/messages.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

struct edges {
    struct mtlm_trace_edge *edge;
    size_t n, capacity;
    size_t own; /* number of first edges, which are within ranks and sorted */
};

static int by_node(const void *pa, const void *pb)
{
    const struct mtlm_trace_edge *a = pa, *b = pb;
    int c = mtlm_compare(a->rank, b->rank);

    if (!c)
        c = mtlm_compare(a->job, b->job);
    if (!c)
        c = mtlm_compare(a->on_rank, b->on_rank);
    return c ? c : mtlm_compare(a->on_job, b->on_job);
}

static void add_edge(struct edges *e, const struct mtlm_record *to,
                     int32_t on_rank, int64_t on_job)
{
    e->edge = mtlm_make_room(e->edge, &e->capacity, e->n + 1, sizeof(*e->edge));
    e->edge[e->n++] =
        (struct mtlm_trace_edge){to->rank, on_rank, to->job, on_job};
}

/* Index of the first edge of a node within its rank. */
static size_t first_of(const struct edges *e, const struct mtlm_record *r)
{
    size_t low = 0, high = e->own;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct mtlm_trace_edge *x = &e->edge[middle];

        if (x->rank < r->rank || (x->rank == r->rank && x->job < r->job))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void meet(struct edges *e, const struct mtlm_trace_end *end, size_t n)
{
    const struct mtlm_record *first = end[0].record;

    for (size_t k = 1; k < n; k++) {
        const struct mtlm_record *r = end[k].record;

        for (size_t i = first_of(e, r); i < e->own && e->edge[i].rank == r->rank
                                        && e->edge[i].job == r->job;
             i++)
            add_edge(e, first, r->rank, e->edge[i].on_job);
        add_edge(e, r, first->rank, first->job);
    }
}

static void receive(struct edges *e, const struct mtlm_trace_end *end, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < n; s++)
            if (end[i].record->op == MTLM_OP_RECV
                && end[s].record->op == MTLM_OP_SEND)
                add_edge(e, end[i].record, end[s].record->rank,
                         end[s].record->job);
}

struct mtlm_trace_edge *mtlm_trace_edges_between(
    const struct mtlm_record *record, size_t n, struct mtlm_trace_edge *edge,
    size_t *n_edges)
{
    struct edges e = {edge, *n_edges, *n_edges, *n_edges};
    size_t ends;
    struct mtlm_trace_end *end = mtlm_trace_ends_create(record, n, &ends);

    if (e.own)
        qsort(e.edge, e.own, sizeof(*e.edge), by_node);
    for (size_t i = 0, next; i < ends; i = next) {
        next = mtlm_trace_ends_next(end, ends, i);
        if (end[i].record->group >= 0)
            meet(&e, &end[i], next - i);
        else
            receive(&e, &end[i], next - i);
    }
    free(end);
    if (e.n > e.own)
        qsort(e.edge, e.n, sizeof(*e.edge), by_node);
    *n_edges = e.n;
    return e.edge;
}
