/* Edges between tasks: added in any order, then sorted by their first task. */

#include "config.h"

#include <stdlib.h>

#include "graph/predict/task_edges.h"
#include "runtime/base/memory.h"

static void grow(struct mtlm_task_edges *e)
{
    const int n = 2 * e->capacity + 1024;

    e->before = mtlm_realloc(e->before, n, sizeof(*e->before));
    e->after = mtlm_realloc(e->after, n, sizeof(*e->after));
    if (e->delay)
        e->delay = mtlm_realloc(e->delay, n, sizeof(*e->delay));
    e->capacity = n;
}

void mtlm_task_edges_add(struct mtlm_task_edges *edges, int before, int after,
                         int64_t delay)
{
    if (edges->n == edges->capacity)
        grow(edges);
    if (delay != 0 && !edges->delay)
        edges->delay = mtlm_calloc(edges->capacity, sizeof(*edges->delay));
    edges->before[edges->n] = before;
    edges->after[edges->n] = after;
    if (edges->delay)
        edges->delay[edges->n] = delay;
    edges->n++;
}

/* Returns first of the edges. */
static int *count_edges(const struct mtlm_task_edges *e, int tasks)
{
    int *first = mtlm_calloc(tasks + 1, sizeof(*first));

    for (int i = 0; i < e->n; i++)
        first[e->before[i] + 1]++;
    for (int t = 0; t < tasks; t++)
        first[t + 1] += first[t];
    return first;
}

void mtlm_task_edges_sort(struct mtlm_task_edges *edges, int tasks)
{
    struct mtlm_task_edges *e = edges;
    struct mtlm_task_edges sorted = {
        .after = mtlm_calloc(e->n, sizeof(*sorted.after)),
        .delay = e->delay ? mtlm_calloc(e->n, sizeof(*sorted.delay)) : NULL,
        .first = count_edges(e, tasks),
        .n = e->n,
        .capacity = e->n};
    int *next = count_edges(e, tasks);

    for (int i = 0; i < e->n; i++) {
        const int to = next[e->before[i]]++;

        sorted.after[to] = e->after[i];
        if (sorted.delay)
            sorted.delay[to] = e->delay[i];
    }
    free(next);
    mtlm_task_edges_free(e);
    *e = sorted;
}

void mtlm_task_edges_free(struct mtlm_task_edges *edges)
{
    free(edges->before);
    free(edges->after);
    free(edges->delay);
    free(edges->first);
}
