/* Walks the order of a rank to its last box, or to the first one that is too
 * much. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/order/order_memory.h"
#include "graph/order/rounding.h"
#include "runtime/base/memory.h"

/* Returns the box that each lane runs: -1, none; the caller frees the array. */
static int *create_running(const struct mtlm_box_order *order, int rank)
{
    const int lanes = mtlm_order_lanes(order, rank);
    int *running = mtlm_calloc(lanes, sizeof(*running));

    for (int lane = 0; lane < lanes; lane++)
        running[lane] = -1;
    return running;
}

/* Returns the place of the first box with which the rank needs more than
 * `most`, or -1.  Sets *memory to what the rank needs then.  A box ends when
 * the next box of its lane starts. */
static int walk_rank(const struct mtlm_box_order *order,
                     const struct mtlm_boxes *boxes, int rank,
                     const struct mtlm_slot_rules *slots, double most,
                     double *memory)
{
    struct mtlm_slot_count *count = mtlm_slot_count_create(boxes, rank, slots);
    int *running = create_running(order, rank);
    int place = -1;

    *memory = 0;
    for (int j = 0; j < order->n[rank] && place < 0; j++) {
        const int box = order->box[rank][j];
        int *before = &running[mtlm_order_lane(order, box)];

        if (*before >= 0)
            mtlm_slot_count_end(count, mtlm_box_at(boxes, *before));
        *before = box;
        *memory += mtlm_slot_count_start(count, mtlm_box_at(boxes, box));
        if (*memory > most)
            place = j;
    }
    free(running);
    mtlm_slot_count_destroy(count);
    return place;
}

double mtlm_order_memory(const struct mtlm_box_order *order,
                         const struct mtlm_boxes *boxes, int rank,
                         const struct mtlm_slot_rules *slots)
{
    double memory;

    walk_rank(order, boxes, rank, slots, INFINITY, &memory);
    return memory;
}

int mtlm_order_memory_exceeds(const struct mtlm_box_order *order,
                              const struct mtlm_boxes *boxes, int rank,
                              const struct mtlm_order_limit *limit,
                              double *memory)
{
    return walk_rank(order, boxes, rank, &limit->slots,
                     limit->most[rank] * (1 + MTLM_MEMORY_ROUNDING), memory);
}
