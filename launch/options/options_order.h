#ifndef MTLM_OPTIONS_ORDER_H
#define MTLM_OPTIONS_ORDER_H

#include "launch/options/options.h"

/* --schedule-file: reads the order and sets the options that the order
 * decides. */

/* Reads the order into options->order.  Sets pipeline size, virtual stages and
 * placement unless given.  Refuses (MTLM_EXIT_USAGE) a file that is no sound
 * order, options that contradict the file, and in mode strict microbatches that
 * do not ascend. */
int mtlm_options_order_resolve(struct mtlm_options *options,
                               struct mtlm_error *err);

#endif /* MTLM_OPTIONS_ORDER_H */
