/* Orders of evaluations: tasks by start, in one lane or in several. */

#include "config.h"

#include <stdlib.h>

#include "graph/predict/evaluated_order.h"
#include "runtime/base/memory.h"

/* Returns the first box of the task's pass. */
static int first_box(const struct mtlm_boxes *boxes,
                     const struct mtlm_evaluated_task *task)
{
    return mtlm_box_number(boxes, (struct mtlm_box){task->phase, task->stage,
                                                    task->microbatch, 0});
}

void mtlm_evaluated_order(const struct mtlm_evaluation *evaluation,
                          const struct mtlm_boxes *boxes,
                          struct mtlm_box_order *order)
{
    /* The pieces of a W are alike: the next one to start is the next piece.  An
     * F or a B is one box, at the place of its first task. */
    int *started = mtlm_calloc(mtlm_boxes_count(boxes), sizeof(*started));

    for (int i = 0; i < evaluation->n_tasks; i++) {
        const int first = first_box(boxes, &evaluation->task[i]);

        if (started[first] == 0
            || evaluation->task[i].phase == MTLM_PHASE_WEIGHT)
            mtlm_order_append(order, boxes, first + started[first]);
        started[first]++;
    }
    free(started);
}

void mtlm_evaluated_order_lanes(const struct mtlm_evaluation *evaluation,
                                const struct mtlm_boxes *boxes,
                                struct mtlm_box_order *order)
{
    bool *begun = mtlm_calloc(mtlm_boxes_count(boxes), sizeof(*begun));

    mtlm_order_add_lanes(order, boxes);
    for (int i = 0; i < evaluation->n_tasks; i++) {
        const int box = first_box(boxes, &evaluation->task[i]);

        if (begun[box])
            continue;
        begun[box] = true;
        order->lane[box] = evaluation->task[i].worker;
        mtlm_order_append(order, boxes, box);
    }
    free(begun);
}
