#ifndef MTLM_GRAPH_TURN_H
#define MTLM_GRAPH_TURN_H

/* Edges between the boxes of a rank: a box starts after the previous box of its
 * lane in program order.  A box is the F, B or W list of a microbatch on a
 * virtual stage.  Messages and collectives take no turn. */

#include "graph/build/program.h"

/* Adds the edges: the first computation of a list writes an ordering tensor,
 * the other computations of the list read the tensor.  Thus the first one waits
 * for the whole previous box.  The tensor has a slot for each lane of
 * config->order.  Call when all lists are built, before
 * mtlm_ring_apply(). */
void mtlm_turn_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_TURN_H */
