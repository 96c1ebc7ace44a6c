#ifndef MTLM_GRAPH_RING_ORDER_H
#define MTLM_GRAPH_RING_ORDER_H

/* Windows and ring lengths of a program that follows an order of boxes
 * (graph/order/order.h). */

#include "graph/build/program.h"
#include "graph/order/slot_count.h"
#include "graph/order/walk.h"
#include "graph/schedule/window.h"

/* Returns the boxes of config's pipeline, each W in one piece, with the times
 * and memory of model, which the boxes borrow. */
struct mtlm_boxes mtlm_ring_order_boxes(
    const struct mtlm_program_config *config,
    const struct mtlm_window_model *model);

/* Returns a walk of config's order, from which slots follow.  A box takes at
 * least a small share of the longest box's time.  boxes:
 * mtlm_ring_order_boxes(), which the walk borrows.  The caller frees the walk
 * with mtlm_walk_free(). */
struct mtlm_walk mtlm_ring_order_walk(const struct mtlm_program_config *config,
                                      const struct mtlm_boxes *boxes);

/* Returns how slots of config's order take memory.  The shares are those of
 * config->activation; without measured activations, W keeps all. */
struct mtlm_slot_rules mtlm_ring_order_rules(
    const struct mtlm_program_config *config);

/* Returns the memory of the slots of config's order on the fullest rank, in the
 * unit of model->memory. */
double mtlm_ring_order_memory(const struct mtlm_program_config *config,
                              const struct mtlm_window_model *model);

/* The functions below walk the order of config: mtlm_ring_order_walk().  model:
 * mtlm_ring_model(), whose times the walk has. */

/* Sets the windows window[stages] of the order.  Modes hint and windows: a
 * stage has at least a slot per worker. */
void mtlm_ring_order_windows(const struct mtlm_program_config *config,
                             const struct mtlm_window_model *model,
                             struct mtlm_window *window);

/* Lengthens the rings of activations: no box of the order then waits for a
 * slot, and no message for the receiver's slot.
 *
 * The order has no deadlock over slots.  Every edge of a slot leads forward in
 * the time of the walk, and every box takes time.  So no edges make a circle.
 * In the walk, lanes of a rank start their boxes in program order.  So the
 * users of a slot follow each other in program order, too. */
void mtlm_ring_order_lengthen(struct mtlm_program *program,
                              const struct mtlm_window_model *model);

#endif /* MTLM_GRAPH_RING_ORDER_H */
