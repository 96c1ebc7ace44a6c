/* Walks the order of a rank to its last box, or to the first one that is too
 * much. */

#include "config.h"

#include <math.h>

#include "graph/order/order_memory.h"

/* Returns the place of the first box with which the rank needs more than
 * `most`, or -1.  Sets *memory to what the rank needs then. */
static int walk_rank(const struct mtlm_box_order *order,
                     const struct mtlm_boxes *boxes, int rank,
                     const struct mtlm_slot_rules *slots, double most,
                     double *memory)
{
    struct mtlm_slot_count *count = mtlm_slot_count_create(boxes, rank, slots);
    int place = -1;

    *memory = 0;
    for (int j = 0; j < order->n[rank] && place < 0; j++) {
        *memory +=
            mtlm_slot_count_run(count, mtlm_box_at(boxes, order->box[rank][j]));
        if (*memory > most)
            place = j;
    }
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
                     limit->most[rank] * (1 + 1e-9), memory);
}
