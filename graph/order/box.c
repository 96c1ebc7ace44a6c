/* Boxes of a pipeline: their numbers, times and dependencies. */

#include "config.h"

#include "graph/order/box.h"

int64_t mtlm_boxes_count(const struct mtlm_boxes *boxes)
{
    return (int64_t) mtlm_layout_stages(boxes->layout) * boxes->microbatches
           * (2 + boxes->pieces);
}

int mtlm_box_number(const struct mtlm_boxes *boxes, struct mtlm_box box)
{
    const int first = (box.stage * boxes->microbatches + box.microbatch)
                      * (2 + boxes->pieces);

    switch (box.phase) {
    case MTLM_PHASE_FORWARD:
        return first;
    case MTLM_PHASE_BACKWARD:
        return first + 1;
    default:
        return first + 2 + box.piece;
    }
}

struct mtlm_box mtlm_box_at(const struct mtlm_boxes *boxes, int number)
{
    const int each = 2 + boxes->pieces, of = number % each;
    const int sample = number / each;
    struct mtlm_box box = {.stage = sample / boxes->microbatches,
                           .microbatch = sample % boxes->microbatches};

    box.phase = of == 0   ? MTLM_PHASE_FORWARD
                : of == 1 ? MTLM_PHASE_BACKWARD
                          : MTLM_PHASE_WEIGHT;
    box.piece = of > 2 ? of - 2 : 0;
    return box;
}

int mtlm_box_rank(const struct mtlm_boxes *boxes, int number)
{
    return mtlm_layout_pp_rank(boxes->layout, mtlm_box_at(boxes, number).stage);
}

int mtlm_box_stage(const struct mtlm_boxes *boxes, int rank, int chunk)
{
    struct mtlm_layout layout = *boxes->layout;

    layout.pp_rank = rank;
    return mtlm_layout_stage(&layout, chunk);
}

double mtlm_box_time(const struct mtlm_boxes *boxes, int number)
{
    const struct mtlm_box box = mtlm_box_at(boxes, number);

    switch (box.phase) {
    case MTLM_PHASE_FORWARD:
        return boxes->forward[box.stage];
    case MTLM_PHASE_BACKWARD:
        return boxes->backward[box.stage];
    default:
        return boxes->weight[box.stage] / boxes->pieces;
    }
}

/* What the B of a stage waits for. */
static struct mtlm_box before_backward(const struct mtlm_boxes *boxes,
                                       struct mtlm_box box)
{
    const int next = box.stage + 1;

    if (next == mtlm_layout_stages(boxes->layout)) {
        box.phase = MTLM_PHASE_FORWARD;
        return box;
    }
    if (boxes->fused
        && !mtlm_layout_same_rank(boxes->layout, box.stage, next)) {
        box.phase = MTLM_PHASE_WEIGHT;
        box.piece = boxes->pieces - 1;
    }
    box.stage = next;
    return box;
}

int mtlm_box_before(const struct mtlm_boxes *boxes, int number, double *hop)
{
    struct mtlm_box box = mtlm_box_at(boxes, number);
    const int stage = box.stage;

    switch (box.phase) {
    case MTLM_PHASE_FORWARD:
        box.stage--;
        break;
    case MTLM_PHASE_BACKWARD:
        box = before_backward(boxes, box);
        break;
    default:
        if (box.piece == 0)
            box.phase = MTLM_PHASE_BACKWARD;
        else
            box.piece--;
    }
    *hop =
        box.stage < 0 || mtlm_layout_same_rank(boxes->layout, box.stage, stage)
            ? 0
            : boxes->hop;
    return box.stage < 0 ? -1 : mtlm_box_number(boxes, box);
}

double mtlm_box_growth(const struct mtlm_boxes *boxes, int number)
{
    const struct mtlm_box box = mtlm_box_at(boxes, number);

    if (box.phase == MTLM_PHASE_FORWARD)
        return boxes->memory[box.stage];
    if (box.phase == MTLM_PHASE_WEIGHT && box.piece == boxes->pieces - 1)
        return -boxes->memory[box.stage];
    return 0;
}
