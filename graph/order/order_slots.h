#ifndef MTLM_GRAPH_ORDER_SLOTS_H
#define MTLM_GRAPH_ORDER_SLOTS_H

/* Slots that the stages of a rank share, dealt out by the rank's order: which
 * slot each microbatch takes, and which box gives the slot back before. */

#include "graph/order/order.h"

/* The places begin .. end - 1 in the order of a rank for which something needs
 * a slot. */
struct mtlm_slot_life {
    int begin, end;
};

/* Slots beyond those that an order needs. */
struct mtlm_slot_spare {
    int more;  /* so many more than the lives need */
    int least; /* at least so many in all */
};

/* Sets slot[n] so that lives with a place in common have different slots.
 * Returns the number of slots: the most lives that meet at a place, and the
 * spare slots.  A life takes the slot that is free for longest. */
int mtlm_order_slots_deal(const struct mtlm_slot_life *life, int n,
                          struct mtlm_slot_spare spare, int *slot);

/* The box `next` takes the slot that the box `last` gives back. */
struct mtlm_slot_edge {
    struct mtlm_box last, next;
};

/* What microbatches of the stages of a rank keep in slots that they share. */
enum mtlm_slot_kind {
    MTLM_SLOT_UNTIL_WEIGHT,   /* from F to W */
    MTLM_SLOT_UNTIL_BACKWARD, /* from F to B */
    /* From F to B, and gradients from B to W: they take turns. */
    MTLM_SLOT_EXCHANGED,
};

/* Deals out the slots of a kind on a rank.  boxes->pieces is 1.  Returns the
 * number of slots.  edge != NULL: sets edge[2 v m], and *n_edges to their
 * number. */
int mtlm_order_slots_edges(const struct mtlm_box_order *order,
                           const struct mtlm_boxes *boxes, int rank,
                           enum mtlm_slot_kind kind,
                           struct mtlm_slot_edge *edge, int *n_edges);

#endif /* MTLM_GRAPH_ORDER_SLOTS_H */
