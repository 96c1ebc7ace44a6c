#ifndef MTLM_GRAPH_RING_LIFE_H
#define MTLM_GRAPH_RING_LIFE_H

/* For how long microbatches need their slots of an activation. */

#include "graph/build/program.h"

/* The boxes of a microbatch that use a tensor.  A tensor between stages of one
 * rank has several stages. */
struct mtlm_ring_life {
    struct mtlm_box *box; /* [n] of microbatch 0 */
    int n;                /* 0: no activation of a training step */
};

/* Returns the life of every tensor, by id.  The caller frees the lives with
 * mtlm_ring_life_free(). */
struct mtlm_ring_life *mtlm_ring_life_find(const struct mtlm_program *program);

/* Frees the lives of n tensors. */
void mtlm_ring_life_free(struct mtlm_ring_life *life, int n);

#endif /* MTLM_GRAPH_RING_LIFE_H */
