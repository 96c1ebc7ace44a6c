#ifndef MTLM_GRAPH_POOL_H
#define MTLM_GRAPH_POOL_H

/* Shared rings: activations of equal shape take turns in one ring. */

#include "graph/graph.h"

struct mtlm_program;

/* Makes activations of equal shape share a ring if they live within one pass of
 * a microbatch through a virtual stage.  A pass is forward, validation or
 * gradient.  The memory then does not grow with the number of layers.  Call
 * after mtlm_ring_apply().
 *
 * A slot is reused one whole layer after its last use at the earliest.  As many
 * microbatches as the rank has compute workers have slots of their own; one
 * worker with tensor-parallel peers counts as two, because the worker waits for
 * the peers.  Sharing therefore adds almost no order to that of the layers.
 *
 * Validations always share.  Training shares where little is kept beyond a
 * pass: with recomputation (graph/build/recompute.h) or sequence parallelism.
 * Otherwise more microbatches may need slots to hide communication. */
void mtlm_pool_apply(struct mtlm_program *program);

/* Returns the phase that decides the node's priority.  Returns
 * MTLM_PHASE_BACKWARD for a weight gradient that reads a shared ring of
 * gradients: the next layers' input gradients wait for that ring.  With its own
 * priority, W would run after all older W and delay B. */
enum mtlm_phase mtlm_pool_phase(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_POOL_H */
