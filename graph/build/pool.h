#ifndef MTLM_GRAPH_POOL_H
#define MTLM_GRAPH_POOL_H

#include "graph/graph.h"

struct mtlm_program;

/* Shared rings: activations of equal shape that live within one pass of a
 * microbatch through a virtual stage - in its forward pass, in a validation's,
 * in its gradients - take turns in the memory of one ring, so that it does not
 * grow with the number of layers.
 *
 * A slot is taken again one whole layer after its last use at the earliest, and
 * as many microbatches as the rank has compute workers (two, where it waits
 * for tensor-parallel peers) have slots of their own: sharing orders almost
 * nothing that the layers do not order anyway.
 *
 * Validations always share.  In training it is worth its edges where little is
 * kept beyond such a pass: with recomputation (graph/build/recompute.h) and
 * sequence parallelism; else more microbatches than these may have use for
 * slots, to hide communication.  Called after mtlm_ring_apply(). */
void mtlm_pool_apply(struct mtlm_program *program);

/* The class of a node's priority: weight gradients that input gradients wait
 * for, because they read what shares its memory with the next layers', go with
 * these.  Behind all the older weight gradients they would hold B up. */
enum mtlm_phase mtlm_pool_phase(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_POOL_H */
