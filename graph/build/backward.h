#ifndef MTLM_GRAPH_BACKWARD_H
#define MTLM_GRAPH_BACKWARD_H

#include "graph/build/recompute.h"

/* Appends the gradients of forward to backward (those of activations: B) and
 * to weight (those of weights: W), by the rules of the operation table.
 *
 * Tensors whose gradient comes from outside (the output of a stage that is
 * not the last) have .grad set before; parameters have it always, and it is
 * added to.  Afterwards .grad of the forward's inputs is set.
 *
 * The segments of forward are called again before their gradients (NULL:
 * none).  backward and weight may be one list: weight gradients then follow
 * each other in it as they are found, so that what they read last need not
 * outlive the layer's other gradients. */
void mtlm_backward_build(struct mtlm_graph *graph,
                         const struct mtlm_list *forward,
                         const struct mtlm_segments *segments,
                         struct mtlm_list *backward, struct mtlm_list *weight);

#endif /* MTLM_GRAPH_BACKWARD_H */
