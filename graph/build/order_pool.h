#ifndef MTLM_GRAPH_ORDER_POOL_H
#define MTLM_GRAPH_ORDER_POOL_H

/* Slots that the stages of a rank share, in a program that follows an order. */

#include "graph/build/program.h"

/* Makes activations of equal shape, one of each stage of the rank, share slots:
 * the order says which microbatch of which stage takes which slot.  Gradients
 * that B leaves for W take turns with activations that B reads last.  A tensor
 * without a partner, of the embedding say, keeps its ring.  Does nothing unless
 * mtlm_program_is_ordered().  Call after mtlm_pool_apply().
 *
 * Slots make no deadlock.  Items stand in the order of their rank, so an edge
 * of a slot leads to a later box of that order.  A received tensor's slot is
 * free when the box that sends the tensor ends, in the walk of the order.  So
 * the walk orders all boxes of all ranks by their starts, and messages by the
 * ends of their senders, and every edge leads forward.  Mode hint has these
 * edges, too, without the chain of boxes.  Each iteration deals out the slots
 * alike and waits for older ones only. */
void mtlm_order_pool_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_ORDER_POOL_H */
