#ifndef MTLM_GRAPH_BACKWARD_H
#define MTLM_GRAPH_BACKWARD_H

#include "graph/graph.h"

/* Appends the gradients of forward to backward (those of activations: B) and
 * to weight (those of weights: W), by the rules of the operation table.
 *
 * Tensors whose gradient comes from outside (the output of a stage that is
 * not the last) have .grad set before; parameters have it always, and it is
 * added to.  Afterwards .grad of the forward's inputs is set. */
void mtlm_graph_backward(struct mtlm_graph *graph,
                         const struct mtlm_list *forward,
                         struct mtlm_list *backward, struct mtlm_list *weight);

#endif /* MTLM_GRAPH_BACKWARD_H */
