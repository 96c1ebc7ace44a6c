/* Critical path and lower bound of each iteration.  The path is the longest
 * chain of dependent nodes of one iteration, with measured durations.  A
 * message or collective lasts from the moment when both ends, or all ranks,
 * were ready.  A receive depends on the begin of its send, not on its end: both
 * run together, as do the nodes of a collective. */
#include "config.h"

#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/messages.h"
#include "launch/trace/path.h"
#include "runtime/base/memory.h"

/* The nodes in topological order. */
struct order {
    size_t *node, n;
    size_t *first_waiting, *waiting; /* successors, indexed like edges */
    int *left;                       /* predecessors of a node that are not yet
                                      * ordered */
};

struct chain {
    int64_t ns, comm_ns; /* comm_ns: part in communication */
};

static bool in_iteration(const struct mtlm_record *r, int iteration)
{
    return r->iteration == iteration && r->phase != MTLM_PHASE_INIT
           && r->phase != MTLM_PHASE_EVAL && r->phase != MTLM_PHASE_SAVE;
}

static bool same_iteration(const struct mtlm_record *a,
                           const struct mtlm_record *b)
{
    return in_iteration(a, b->iteration) && in_iteration(b, a->iteration);
}

/* Reverses the edges within iterations. */
static void turn_edges(const struct mtlm_trace_records *records,
                       const struct mtlm_trace_predecessors *edges,
                       struct order *order)
{
    const size_t n = records->n;
    size_t *next;

    order->first_waiting = mtlm_calloc(n + 2, sizeof(*order->first_waiting));
    order->left = mtlm_calloc(n, sizeof(*order->left));
    order->node = mtlm_calloc(n, sizeof(*order->node));
    order->waiting = mtlm_calloc(edges->first[n], sizeof(*order->waiting));
    next = order->first_waiting + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++)
            for (size_t k = edges->first[i]; k < edges->first[i + 1]; k++) {
                const size_t on = edges->on[k];

                if (!same_iteration(&records->record[i], &records->record[on]))
                    continue;
                if (pass == 0) {
                    next[on + 1]++;
                    order->left[i]++;
                } else {
                    order->waiting[next[on]++] = i;
                }
            }
        for (size_t i = 0; pass == 0 && i < n; i++)
            next[i + 1] += next[i];
    }
}

static void sort_nodes(const struct mtlm_trace_records *records,
                       const struct mtlm_trace_predecessors *edges,
                       struct order *order)
{
    turn_edges(records, edges, order);
    for (size_t i = 0; i < records->n; i++)
        if (!order->left[i])
            order->node[order->n++] = i;
    for (size_t k = 0; k < order->n; k++) {
        const size_t i = order->node[k];

        for (size_t w = order->first_waiting[i];
             w < order->first_waiting[i + 1]; w++)
            if (!--order->left[order->waiting[w]])
                order->node[order->n++] = order->waiting[w];
    }
}

static void order_free(struct order *order)
{
    free(order->node);
    free(order->first_waiting);
    free(order->waiting);
    free(order->left);
}

/* Returns whether a waits for the begin of b, not for the end: both are nodes
 * of one message.  Without message numbers: a receive and a send of different
 * ranks. */
static bool run_together(const struct mtlm_record *a,
                         const struct mtlm_record *b)
{
    return a->rank != b->rank
           && (mtlm_trace_same_message(a, b)
               || (a->op == MTLM_OP_RECV && b->op == MTLM_OP_SEND));
}

/* Writes the longest chain of each iteration to path[iteration - first]. */
static void find_chains(const struct mtlm_trace_records *records,
                        const struct mtlm_trace_predecessors *edges, int first,
                        struct chain *path)
{
    struct chain *begin = mtlm_calloc(records->n, sizeof(*begin));
    struct order order = {0};

    sort_nodes(records, edges, &order);
    for (size_t k = 0; k < order.n; k++) {
        const size_t i = order.node[k];
        const struct mtlm_record *r = &records->record[i];
        const int64_t ns = r->end_ns - records->met_ns[i];
        struct chain end = begin[i], *longest;

        if (!in_iteration(r, r->iteration))
            continue;
        longest = &path[r->iteration - first];
        end.ns += ns;
        if (r->lane != MTLM_LANE_COMPUTE)
            end.comm_ns += ns;
        if (end.ns > longest->ns)
            *longest = end;
        for (size_t w = order.first_waiting[i]; w < order.first_waiting[i + 1];
             w++) {
            const size_t next = order.waiting[w];
            const struct chain *reach =
                run_together(&records->record[next], r) ? &begin[i] : &end;

            if (reach->ns > begin[next].ns)
                begin[next] = *reach;
        }
    }
    order_free(&order);
    free(begin);
}

/* Whether averages have iteration k of the list. */
static bool stands(const struct mtlm_trace_summary *summary, size_t k)
{
    return summary->windows ? summary->iteration[k].counts
                            : k + 1 == summary->n_iterations;
}

/* Fills in the work per iteration, and the mean work of each rank over the
 * iterations that count. */
static void find_work(const struct mtlm_trace_records *records,
                      struct mtlm_trace_summary *summary)
{
    const int first = summary->first_iteration, ranks = records->ranks;
    const size_t n = (size_t) (summary->last_iteration - first + 1) * ranks;
    int64_t *work = mtlm_calloc(n, sizeof(*work));
    int counted = 0;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (in_iteration(r, r->iteration) && mtlm_trace_is_busy(records, r))
            work[(size_t) (r->iteration - first) * ranks + r->rank] +=
                r->end_ns - r->start_ns;
    }
    for (size_t k = 0; k < summary->n_iterations; k++) {
        struct mtlm_trace_iteration *e = &summary->iteration[k];
        const int64_t *mine = work + (size_t) (e->iteration - first) * ranks;
        const bool counts = stands(summary, k);

        counted += counts;
        for (int r = 0; r < ranks; r++) {
            const int workers = summary->rank[r].workers;

            if (workers && counts)
                summary->rank[r].work_ns += mine[r] / workers;
            if (workers && mine[r] / workers > e->work_ns) {
                e->work_ns = mine[r] / workers;
                e->work_rank = r;
            }
        }
    }
    for (int r = 0; r < ranks && counted; r++)
        summary->rank[r].work_ns /= counted;
    free(work);
}

/* Averages over the iterations that count, or takes the last if none counts. */
static void average_paths(struct mtlm_trace_summary *summary, bool paths)
{
    int n = 0;

    summary->path_ns = summary->path_comm_ns = summary->bound_ns = 0;
    for (size_t k = 0; k < summary->n_iterations; k++) {
        const struct mtlm_trace_iteration *e = &summary->iteration[k];

        if (!stands(summary, k))
            continue;
        n++;
        summary->work_ns += e->work_ns;
        summary->path_ns += e->path_ns;
        summary->path_comm_ns += e->path_comm_ns;
        summary->bound_ns += e->path_ns > e->work_ns ? e->path_ns : e->work_ns;
    }
    if (n) {
        summary->work_ns /= n;
        summary->path_ns /= n;
        summary->path_comm_ns /= n;
        summary->bound_ns /= n;
    }
    if (!paths || !n)
        summary->path_ns = summary->path_comm_ns = summary->bound_ns = -1;
}

void mtlm_trace_find_paths(const struct mtlm_trace_records *records,
                           const struct mtlm_trace_predecessors *edges,
                           struct mtlm_trace_summary *summary)
{
    const int first = summary->first_iteration;
    struct chain *path;

    if (summary->n_iterations) {
        path = mtlm_calloc(summary->last_iteration - first + 1, sizeof(*path));
        if (edges)
            find_chains(records, edges, first, path);
        for (size_t k = 0; k < summary->n_iterations; k++) {
            struct mtlm_trace_iteration *e = &summary->iteration[k];

            e->path_ns = edges ? path[e->iteration - first].ns : -1;
            e->path_comm_ns = edges ? path[e->iteration - first].comm_ns : -1;
        }
        free(path);
        find_work(records, summary);
    }
    average_paths(summary, edges != NULL);
}
