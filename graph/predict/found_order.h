#ifndef MTLM_GRAPH_FOUND_ORDER_H
#define MTLM_GRAPH_FOUND_ORDER_H

/* The orders that a search found, and the choice among them.
 *
 * An order is near the best if its evaluation is at most 0.1 % longer than the
 * shortest one: times are never exact.  Of the orders near the best, the choice
 * is the shortest one behind late messages (graph/predict/late.h).  There, a
 * chain must gain 0.1 %: a chain cannot run a ready pass while a late one is
 * next. */

#include "graph/build/program.h"

/* An order, and what a program makes of it. */
struct mtlm_found_order {
    struct mtlm_box_order order; /* each W in one piece; without ranks: the
                                  * windows of a config that has no order */
    enum mtlm_follow follow;     /* how ranks follow the order */
    /* The schedule of the program: the one searched for, or a published one
     * whose B and W are one. */
    const struct mtlm_schedule *schedule;
    struct mtlm_layout layout; /* of the order's stages */
    /* Of an iteration, by evaluation: with messages as given, and the mean with
     * late messages. */
    double seconds, late_seconds;
    bool too_large; /* programs need more memory than there is */
};

/* Frees the order. */
void mtlm_found_order_free(struct mtlm_found_order *found);

/* Orders that may be chosen.  Zeroed: none. */
struct mtlm_found_orders {
    struct mtlm_found_order *found; /* [n] */
    int n;
    double least; /* the shortest evaluation so far; 0: none */
};

/* Returns whether an order of so many seconds may be chosen. */
bool mtlm_found_orders_want(const struct mtlm_found_orders *orders,
                            double seconds);

/* Adds an order and takes it over.  Frees orders that will not be chosen. */
void mtlm_found_orders_add(struct mtlm_found_orders *orders,
                           const struct mtlm_found_order *found);

/* Returns the choice, which the caller frees, and empties the list.  The list
 * has an order.  The result does not depend on the sequence of orders, but for
 * equal ones: the first one is chosen. */
struct mtlm_found_order mtlm_found_orders_choose(
    struct mtlm_found_orders *orders);

#endif /* MTLM_GRAPH_FOUND_ORDER_H */
