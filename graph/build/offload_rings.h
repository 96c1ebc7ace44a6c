#ifndef MTLM_GRAPH_OFFLOAD_RINGS_H
#define MTLM_GRAPH_OFFLOAD_RINGS_H

/* Activations of a job whose state is loaded in each pass. */

#include "graph/build/program.h"

/* Sets the rings of tensors that outlive a box, where a group of microbatches
 * (mtlm_offload_group()) goes through one virtual stage after another.
 *
 * A layer's input, which its backward pass reads, has a slot for each
 * microbatch of a group, or is offloaded (graph/build/offload_inputs.h).  A
 * gradient between two stages, or a validation's activation, lives from one
 * stage to the next: one ring (graph/build/offload_frontier.h) serves all
 * stages, and takes the messages of other ranks, too.  Call when all other
 * rings have their lengths. */
void mtlm_offload_rings_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_OFFLOAD_RINGS_H */
