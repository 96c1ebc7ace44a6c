/* Places in an order as priorities. */

#include "config.h"

#include "graph/schedule/order_place.h"
#include "graph/schedule/priority.h"
#include "runtime/base/memory.h"

int *mtlm_order_places(const struct mtlm_boxes *boxes,
                       const struct mtlm_box_order *order, int rank)
{
    const struct mtlm_priority priority = {.chunks =
                                               boxes->layout->virtual_stages,
                                           .microbatches = boxes->microbatches};
    int *place = mtlm_calloc(order->n[rank], sizeof(*place));

    for (int j = 0; j < order->n[rank]; j++) {
        const struct mtlm_box box = mtlm_box_at(boxes, order->box[rank][j]);

        place[mtlm_priority_index(
            &priority, box.phase, box.microbatch,
            mtlm_layout_chunk(boxes->layout, box.stage))] = j;
    }
    return place;
}
