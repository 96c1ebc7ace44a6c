#ifndef MTLM_GRAPH_BACKWARD_H
#define MTLM_GRAPH_BACKWARD_H

/* Builds the gradient nodes of a forward list (reverse-mode
 * differentiation). */

#include "graph/build/recompute.h"

/* Appends the gradients of forward by the rules of the operation table: those
 * of activations to backward (B), those of weights to weight (W).
 *
 * Before the call, tensors whose gradient comes from outside (the output of a
 * stage that is not the last) have .grad set.  Parameters always have .grad,
 * and the nodes add to that gradient.  After the call, .grad of forward's
 * inputs is set.
 *
 * segments: segments of forward to recompute before their gradients; NULL:
 * none.  backward and weight may be the same list.  Weight gradients then stand
 * where they arise, so the tensors they read need not outlive the layer. */
void mtlm_backward_build(struct mtlm_graph *graph,
                         const struct mtlm_list *forward,
                         const struct mtlm_segments *segments,
                         struct mtlm_list *backward, struct mtlm_list *weight);

#endif /* MTLM_GRAPH_BACKWARD_H */
