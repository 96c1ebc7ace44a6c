/* Orders of a pipeline: lists of boxes, and the memory that they need. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/order.h"
#include "runtime/base/memory.h"

/* The boxes of a rank, were the order whole. */
static int boxes_of_rank(const struct mtlm_boxes *boxes)
{
    return boxes->layout->virtual_stages * boxes->microbatches
           * (2 + boxes->pieces);
}

struct mtlm_box_order mtlm_order_create(const struct mtlm_boxes *boxes)
{
    const int ranks = boxes->layout->pp;
    struct mtlm_box_order order = {.ranks = ranks,
                                   .n = mtlm_calloc(ranks, sizeof(int)),
                                   .box = mtlm_calloc(ranks, sizeof(int *))};

    for (int r = 0; r < ranks; r++)
        order.box[r] = mtlm_calloc(boxes_of_rank(boxes), sizeof(int));
    return order;
}

void mtlm_order_free(struct mtlm_box_order *order)
{
    for (int r = 0; r < order->ranks; r++)
        free(order->box[r]);
    free(order->box);
    free(order->n);
    free(order->lane);
}

void mtlm_order_append(struct mtlm_box_order *order,
                       const struct mtlm_boxes *boxes, int box)
{
    const int r = mtlm_box_rank(boxes, box);

    order->box[r][order->n[r]++] = box;
}

void mtlm_order_append_phase(struct mtlm_box_order *order,
                             const struct mtlm_boxes *boxes,
                             enum mtlm_phase phase, int stage, int microbatch)
{
    const int first =
        mtlm_box_number(boxes, (struct mtlm_box){phase, stage, microbatch, 0});
    const int n = phase == MTLM_PHASE_WEIGHT ? boxes->pieces : 1;

    for (int i = 0; i < n; i++)
        mtlm_order_append(order, boxes, first + i);
}

void mtlm_order_add_lanes(struct mtlm_box_order *order,
                          const struct mtlm_boxes *boxes)
{
    order->lane = mtlm_calloc(mtlm_boxes_count(boxes), sizeof(*order->lane));
}

int mtlm_order_lane(const struct mtlm_box_order *order, int box)
{
    return order->lane ? order->lane[box] : 0;
}

int mtlm_order_lanes(const struct mtlm_box_order *order, int rank)
{
    int lanes = 1;

    for (int j = 0; order->lane && j < order->n[rank]; j++) {
        const int lane = order->lane[order->box[rank][j]];

        lanes = lane >= lanes ? lane + 1 : lanes;
    }
    return lanes;
}

int mtlm_order_most_lanes(const struct mtlm_box_order *order)
{
    int most = 1;

    for (int r = 0; r < order->ranks; r++) {
        const int lanes = mtlm_order_lanes(order, r);

        most = lanes > most ? lanes : most;
    }
    return most;
}

void mtlm_order_copy(struct mtlm_box_order *to,
                     const struct mtlm_box_order *from)
{
    for (int r = 0; r < from->ranks; r++) {
        to->n[r] = from->n[r];
        memcpy(to->box[r], from->box[r], from->n[r] * sizeof(int));
    }
}

struct mtlm_box_order mtlm_order_duplicate(const struct mtlm_box_order *order,
                                           const struct mtlm_boxes *boxes)
{
    return mtlm_order_first(order, boxes, boxes->microbatches);
}

struct mtlm_box_order mtlm_order_first(const struct mtlm_box_order *order,
                                       const struct mtlm_boxes *boxes,
                                       int microbatches)
{
    struct mtlm_boxes fewer = *boxes;
    struct mtlm_box_order first;

    fewer.microbatches = microbatches;
    first = mtlm_order_create(&fewer);
    if (order->lane)
        mtlm_order_add_lanes(&first, &fewer);
    for (int r = 0; r < order->ranks; r++)
        for (int j = 0; j < order->n[r]; j++) {
            const struct mtlm_box box = mtlm_box_at(boxes, order->box[r][j]);
            int number;

            if (box.microbatch >= microbatches)
                continue;
            number = mtlm_box_number(&fewer, box);
            mtlm_order_append(&first, &fewer, number);
            if (first.lane)
                first.lane[number] = order->lane[order->box[r][j]];
        }
    return first;
}

bool mtlm_order_ascends(const struct mtlm_box_order *order,
                        const struct mtlm_boxes *boxes)
{
    const int stages = mtlm_layout_stages(boxes->layout);
    int *last =
        mtlm_calloc((size_t) (MTLM_PHASE_WEIGHT + 1) * stages, sizeof(*last));
    bool ascends = true;

    for (int r = 0; r < order->ranks; r++)
        for (int j = 0; j < order->n[r]; j++) {
            const struct mtlm_box box = mtlm_box_at(boxes, order->box[r][j]);
            int *before = &last[box.phase * stages + box.stage];

            ascends = ascends && box.microbatch >= *before;
            *before = box.microbatch;
        }
    free(last);
    return ascends;
}

double mtlm_order_peak(const struct mtlm_box_order *order,
                       const struct mtlm_boxes *boxes)
{
    double peak = 0;

    for (int r = 0; r < order->ranks; r++) {
        double used = 0;

        for (int j = 0; j < order->n[r]; j++) {
            used += mtlm_box_growth(boxes, order->box[r][j]);
            peak = fmax(peak, used);
        }
    }
    return peak;
}
