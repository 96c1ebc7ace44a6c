#ifndef MTLM_GRAPH_OPTIMIZER_H
#define MTLM_GRAPH_OPTIMIZER_H

/* The end of an iteration and of a validation, and initial values. */

#include "graph/build/program.h"

/* Appends the nodes after the microbatches of an iteration.  The two gradients
 * of the tied embedding are added.  Every rank writes squared sums, loss and
 * flags into the status vector; one all-reduce sums the vectors.  The control
 * node decides on norm, clipping, learning rate and skipping; Adam steps. */
void mtlm_optimizer_build(struct mtlm_program *program);

/* Appends the sums of offloaded gradients to the list reduce of a virtual
 * stage; the sums precede the store.  Call after
 * mtlm_buckets_build_reduce(). */
void mtlm_optimizer_build_sums(struct mtlm_program *program, int chunk);

/* Appends the initialisation of parameters and moments; global tensors become
 * zero. */
void mtlm_optimizer_build_init(struct mtlm_program *program);

/* Appends the nodes after the microbatches of a validation. */
void mtlm_optimizer_build_eval_tail(struct mtlm_program *program);

/* Returns the number of squared sums in the status vector: one per parameter
 * and tensor-parallel rank, and per data-parallel rank with sharded buckets.
 * The sums are added in this order. */
int64_t mtlm_optimizer_status_sums(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_OPTIMIZER_H */
