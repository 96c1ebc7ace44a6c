#ifndef MTLM_PLAN_ORDER_H
#define MTLM_PLAN_ORDER_H

/* The order of a plan as a file (graph/order/order_write.h). */

#include "graph/predict/work.h"
#include "runtime/base/error.h"

/* Writes config->order if the program is chained or the order was searched,
 * else the order of an evaluation of its work, whose tasks have workers.  With
 * several workers on each rank, a pass is in the lane of the worker that starts
 * it.  Returns 0, or -1 with err. */
int mtlm_plan_order_write(const char *path,
                          const struct mtlm_program_config *config,
                          bool searched, const struct mtlm_work *work,
                          const struct mtlm_evaluation *evaluation,
                          struct mtlm_error *err);

#endif /* MTLM_PLAN_ORDER_H */
