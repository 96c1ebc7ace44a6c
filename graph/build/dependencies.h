#ifndef MTLM_GRAPH_DEPENDENCIES_H
#define MTLM_GRAPH_DEPENDENCIES_H

#include "graph/graph.h"

/* What waits for what: StarPU's sequential consistency, followed through the
 * nodes of one rank in the order in which they are submitted.  In each slot of
 * a tensor a reader waits for the last writer, and a writer for the readers
 * since then, or, where there are none, for the last writer. */
struct mtlm_dependencies;

/* Of nodes on graph's tensors, whose rings have their lengths; the graph is
 * borrowed.  destroy(NULL) is fine. */
struct mtlm_dependencies *mtlm_dependencies_create(
    const struct mtlm_graph *graph);
void mtlm_dependencies_destroy(struct mtlm_dependencies *d);

/* Tasks [n], each once, in increasing order. */
struct mtlm_predecessors {
    const int64_t *task;
    int n;
};

/* node is submitted next, as this task (>= 0), and uses its tensors for the
 * use-th time.  Returns what it waits for, valid until the next call. */
struct mtlm_predecessors mtlm_dependencies_add(struct mtlm_dependencies *d,
                                               const struct mtlm_node *node,
                                               int64_t use, int64_t task);

/* All slots of the graph's tensors are numbered, tensor by tensor: the number
 * of slot 0, from 0, of a tensor that has a ring of its own; of all of them,
 * how many there are. */
int mtlm_dependencies_first_slot(const struct mtlm_dependencies *d,
                                 const struct mtlm_tensor *tensor);
int mtlm_dependencies_slots(const struct mtlm_dependencies *d);

#endif /* MTLM_GRAPH_DEPENDENCIES_H */
