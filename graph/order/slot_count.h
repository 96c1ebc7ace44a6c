#ifndef MTLM_GRAPH_SLOT_COUNT_H
#define MTLM_GRAPH_SLOT_COUNT_H

/* Slots of a rank, counted along its order.  F takes a slot for tensors that B
 * reads last, and a slot for tensors that W reads last; B takes a slot for
 * gradients that W reads.  A slot stays for the whole run.  The slots of a rank
 * may therefore take more memory than its activations at any moment
 * (mtlm_order_peak()). */

#include "graph/order/box.h"

/* How slots take memory. */
struct mtlm_slot_rules {
    /* Share of a microbatch's memory that is in use until W ends, gradients
     * that B leaves for W included; the rest is in use until B ends.  0 means
     * 1. */
    double weight_share;
    double gradient_share; /* share of those gradients alone */
    /* The stages of a rank share slots, as far as their memory is equal.  Else
     * each stage has rings of its own: microbatch i has slot i modulo their
     * length, so the distance of numbers counts. */
    bool pooled;
};

/* The slots of a rank so far. */
struct mtlm_slot_count;

/* Returns a count without slots.  boxes is borrowed and has memory.  The caller
 * frees the count with mtlm_slot_count_destroy(). */
struct mtlm_slot_count *mtlm_slot_count_create(
    const struct mtlm_boxes *boxes, int rank,
    const struct mtlm_slot_rules *rules);

/* Frees the count. */
void mtlm_slot_count_destroy(struct mtlm_slot_count *count);

/* Returns what the memory of the slots grows by if a box of the rank runs next.
 * A few slots of gradients per stage take no memory here. */
double mtlm_slot_count_growth(const struct mtlm_slot_count *count,
                              struct mtlm_box box);

/* Returns whether that growth is less after a W that waits. */
bool mtlm_slot_count_weight_helps(const struct mtlm_slot_count *count,
                                  struct mtlm_box box);

/* Starts the box: takes slots.  Returns the growth. */
double mtlm_slot_count_start(struct mtlm_slot_count *count,
                             struct mtlm_box box);

/* Ends the box, which has started: returns slots. */
void mtlm_slot_count_end(struct mtlm_slot_count *count, struct mtlm_box box);

/* Starts and ends the box.  Returns the growth. */
double mtlm_slot_count_run(struct mtlm_slot_count *count, struct mtlm_box box);

#endif /* MTLM_GRAPH_SLOT_COUNT_H */
