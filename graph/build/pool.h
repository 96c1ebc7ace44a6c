#ifndef MTLM_GRAPH_POOL_H
#define MTLM_GRAPH_POOL_H

/* Shared rings: activations of equal shape take turns in one ring. */

#include "graph/graph.h"

struct mtlm_program;

/* Makes activations of equal shape share a ring if they live within one pass of
 * a microbatch through a virtual stage.  A pass is forward, validation or
 * gradient.  The memory of these activations then does not grow with the number
 * of layers.  Call after mtlm_ring_apply().
 *
 * At least one whole layer runs between the last use of a slot and its reuse.
 * Each compute worker of the rank has slots for a microbatch of its own.  One
 * worker with tensor-parallel peers has slots for two microbatches, because the
 * worker waits for the peers.  Sharing therefore delays almost no node.
 *
 * Where state is offloaded (graph/build/offload.h), all virtual stages of the
 * rank share.
 *
 * Validations always share.  Training shares with recomputation
 * (graph/build/recompute.h) or sequence parallelism, where few activations
 * outlive a pass, and in fused schedules, where W follows B in each layer.
 * Otherwise more microbatches may need slots to hide communication. */
void mtlm_pool_apply(struct mtlm_program *program);

/* Returns the phase that decides the node's priority: normally the node's own
 * phase.  Returns MTLM_PHASE_BACKWARD for a weight gradient (W) with_backward,
 * and for one that reads a shared ring of gradients.  The input
 * gradients (B) of the next layers wait for a slot of that ring.  At the
 * priority of W, the node would run after all older W and delay B. */
enum mtlm_phase mtlm_pool_phase(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_POOL_H */
