#ifndef MTLM_GRAPH_OFFLOAD_FRONTIER_H
#define MTLM_GRAPH_OFFLOAD_FRONTIER_H

/* Rings of tensors between stages, where a group of microbatches goes through
 * one virtual stage after another.
 *
 * Each microbatch takes one tensor into a stage and leaves one for the next
 * stage.  So a group of g microbatches has g tensors between stages at a time,
 * and a ring has g slots, and a few more.  The tensors of all stages take the
 * slots in turn, in program order.
 *
 * The ring makes no deadlock, with messages and in any number of microbatches.
 * Order all passes of all ranks by stage, then by microbatch.  The slot of a
 * tensor was that of an earlier microbatch of the rank's stage before.  That
 * microbatch's pass precedes the pass that sends or writes the tensor. */

#include "graph/build/program.h"

struct mtlm_offload_frontier {
    struct mtlm_tensor *ring; /* NULL: no member yet */
    int members;
};

/* Returns the slots of such a ring. */
int mtlm_offload_frontier_slots(const struct mtlm_program_config *config);

/* Returns the slots beyond those of a group in use: of microbatches that one
 * stage ends and another begins. */
int mtlm_offload_frontier_spare(const struct mtlm_program_config *config);

/* Adds the tensor to the ring, which the first call creates.  Call in the order
 * in which passes need the tensors. */
void mtlm_offload_frontier_join(struct mtlm_program *program,
                                struct mtlm_offload_frontier *frontier,
                                struct mtlm_tensor *tensor);

#endif /* MTLM_GRAPH_OFFLOAD_FRONTIER_H */
