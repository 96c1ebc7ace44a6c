#ifndef MTLM_GRAPH_OPTIMIZER_H
#define MTLM_GRAPH_OPTIMIZER_H

#include "graph/build/program.h"

/* What follows the microbatches of an iteration: the tied embedding's two
 * gradients become one, every rank writes its squared sums, loss and flags
 * into the status vector, one all-reduce adds these up, the control node
 * decides (norm, clipping, learning rate, skip), Adam steps. */
void mtlm_optimizer_build(struct mtlm_program *program);

/* Initial values of parameters and moments; global tensors to zero. */
void mtlm_optimizer_build_init(struct mtlm_program *program);

/* What follows the microbatches of a validation. */
void mtlm_optimizer_build_eval_tail(struct mtlm_program *program);

/* Squared sums in the status vector: one per parameter and rank of the
 * tensor-parallel group, in the order in which they are added. */
int64_t mtlm_optimizer_status_sums(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_OPTIMIZER_H */
