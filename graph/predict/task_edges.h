#ifndef MTLM_GRAPH_TASK_EDGES_H
#define MTLM_GRAPH_TASK_EDGES_H

/* Edges between the tasks of a simulator.  A large program has millions: an
 * edge takes 8 bytes, 4 once the edges are sorted. */

#include <stdint.h>

/* All fields 0: no edges. */
struct mtlm_task_edges {
    int *before, *after; /* [n] tasks; before: until the sort */
    int64_t *delay;      /* [n]; NULL: every delay is 0 */
    int *first;          /* [tasks + 1], after the sort: edges from task t are
                          * first[t] .. first[t + 1] - 1 */
    int n, capacity;
};

/* Adds an edge: `after` starts no earlier than `delay` after the end of
 * `before`. */
void mtlm_task_edges_add(struct mtlm_task_edges *edges, int before, int after,
                         int64_t delay);

/* Sorts the edges by `before`, of tasks 0 .. tasks - 1.  Edges of one task stay
 * in the order in which they were added. */
void mtlm_task_edges_sort(struct mtlm_task_edges *edges, int tasks);

/* Returns the delay of edge number i. */
static inline int64_t mtlm_task_edges_delay(const struct mtlm_task_edges *edges,
                                            int i)
{
    return edges->delay ? edges->delay[i] : 0;
}

/* Frees the edges. */
void mtlm_task_edges_free(struct mtlm_task_edges *edges);

#endif /* MTLM_GRAPH_TASK_EDGES_H */
