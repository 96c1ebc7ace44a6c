#ifndef MTLM_GRAPH_BACKWARD_H
#define MTLM_GRAPH_BACKWARD_H

/* Builds the gradient nodes of a forward list (reverse-mode
 * differentiation). */

#include "graph/build/recompute.h"

/* Appends the gradient nodes of forward, by the rules of the operation table.
 * Gradients of activations go to backward (B), gradients of weights to weight
 * (W).
 *
 * Set .grad before the call in tensors whose gradient another stage sends (the
 * output of any stage but the last).  Parameters have .grad already, and the
 * nodes add to that gradient, or set it (first_gradient.h).  The call sets
 * .grad of every activation that a gradient reaches.
 *
 * segments: segments of forward to recompute; NULL: none.  The recomputing
 * nodes go to backward, before the segment's gradients.  So do the gradients of
 * weights of a segment's nodes (with_backward), so that recomputed tensors need
 * not outlive this B.
 *
 * joins: calls of several row parts that add to one weight's gradient share a
 * node, so that caches can hold the gradient meanwhile.  No bit changes.
 *
 * backward and weight may be one list, which joins no calls.  Each weight
 * gradient then stands beside B of its layer, so that activations need not
 * outlive this B. */
void mtlm_backward_build(struct mtlm_graph *graph,
                         const struct mtlm_list *forward,
                         const struct mtlm_segments *segments,
                         struct mtlm_list *backward, struct mtlm_list *weight,
                         bool joins);

/* Appends a node that makes a gradient of zeros, in the shape of `like`.
 * Returns the gradient, for nodes to add to or to send. */
struct mtlm_tensor *mtlm_backward_zeros(struct mtlm_graph *graph,
                                        const struct mtlm_tensor *like);

#endif /* MTLM_GRAPH_BACKWARD_H */
