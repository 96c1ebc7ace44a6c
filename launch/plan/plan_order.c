/* Writes the order of a plan: one lane on each rank, or one for each worker. */

#include "config.h"

#include "graph/order/order_write.h"
#include "graph/predict/evaluated_order.h"
#include "launch/plan/plan_order.h"

int mtlm_plan_order_write(const char *path,
                          const struct mtlm_program_config *config,
                          bool searched, const struct mtlm_work *work,
                          const struct mtlm_evaluation *evaluation,
                          struct mtlm_error *err)
{
    const bool given =
        mtlm_program_is_chained(config) || (searched && config->order);
    const bool lanes = config->layout.workers > 1;
    struct mtlm_boxes boxes = mtlm_evaluate_boxes(&work->pipeline, NULL);
    struct mtlm_box_order order;
    int rc;

    if (given || lanes)
        boxes.pieces = 1;
    if (given)
        return mtlm_order_write(path, &boxes, config->order, err);
    order = mtlm_order_create(&boxes);
    if (lanes)
        mtlm_evaluated_order_lanes(evaluation, &boxes, &order);
    else
        mtlm_evaluated_order(evaluation, &boxes, &order);
    rc = mtlm_order_write(path, &boxes, &order, err);
    mtlm_order_free(&order);
    return rc;
}
