#ifndef MTLM_ORDER_CHOICE_H
#define MTLM_ORDER_CHOICE_H

/* The order that a schedule follows where nobody names one. */

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Gives options and wish an order of config's layout.  Takes over the arrays of
 * the order: options free them. */
void mtlm_order_choice_take(struct mtlm_options *options,
                            struct mtlm_wish *wish,
                            const struct mtlm_program_config *config,
                            const struct mtlm_box_order *order);

/* Searches the order of --schedule auto and notes the choice.  If the choice is
 * an order, sets order and mode in options and wish, and config->layout.  With
 * two versions of the weights there are windows only, for an order ends with
 * its iteration. config, kinds: as in graph/predict/search_order.h. */
void mtlm_order_choice_search(struct mtlm_options *options,
                              struct mtlm_wish *wish,
                              struct mtlm_program_config *config,
                              unsigned kinds);

/* Takes places in the order of config's plan as priorities, and notes that: if
 * the policy has the hold rule, the times are known, neither the schedule nor
 * an option says windows or an order, the weights have one version, and
 * messages that come late cost less. */
void mtlm_order_choice_places(struct mtlm_options *options,
                              struct mtlm_wish *wish,
                              const struct mtlm_program_config *config);

#endif /* MTLM_ORDER_CHOICE_H */
