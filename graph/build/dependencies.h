#ifndef MTLM_GRAPH_DEPENDENCIES_H
#define MTLM_GRAPH_DEPENDENCIES_H

/* Dependencies between the nodes of one rank. */

#include "graph/graph.h"

/* Data dependencies under StarPU's sequential consistency, in submission
 * order.  In each slot of a tensor, a reader waits for the last writer.  A
 * writer waits for the readers since the last writer, or for the last writer if
 * no reader follows. */
struct mtlm_dependencies;

/* Returns an empty record of dependencies on graph's tensors.  The rings must
 * have their lengths.  graph is borrowed. */
struct mtlm_dependencies *mtlm_dependencies_create(
    const struct mtlm_graph *graph);

/* Frees the record; NULL is allowed. */
void mtlm_dependencies_destroy(struct mtlm_dependencies *d);

/* Tasks [n], ascending, without duplicates. */
struct mtlm_predecessors {
    const int64_t *task;
    int n;
};

/* Adds node as the next submitted task with number `task` (>= 0).  Returns the
 * tasks that the node waits for, valid until the next call. */
struct mtlm_predecessors mtlm_dependencies_add(struct mtlm_dependencies *d,
                                               const struct mtlm_node *node,
                                               const struct mtlm_submission *at,
                                               int64_t task);

/* Tasks only read the tensor from here on, or one task sets its values before
 * all others.  Readers no longer wait for its writers, and the record does not
 * grow by them. */
void mtlm_dependencies_fix(struct mtlm_dependencies *d,
                           const struct mtlm_tensor *tensor);

/* Returns the number of slot 0 of a tensor that has a ring of its own.  The
 * slots of all tensors are numbered from 0, tensor by tensor. */
int mtlm_dependencies_first_slot(const struct mtlm_dependencies *d,
                                 const struct mtlm_tensor *tensor);

/* Returns the number of slots of all tensors. */
int mtlm_dependencies_slots(const struct mtlm_dependencies *d);

#endif /* MTLM_GRAPH_DEPENDENCIES_H */
