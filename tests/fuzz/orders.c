/* Files of orders of any bytes. */

#include "config.h"

#include <stdlib.h>

#include "graph/order/order_file.h"
#include "graph/order/order_rows.h"
#include "runtime/base/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

/* Reads the order for the job that the file is made for. */
static void read_order(const struct mtlm_order_shape *shape)
{
    const struct mtlm_layout layout = {.tp = 1,
                                       .pp = shape->ranks,
                                       .dp = 1,
                                       .virtual_stages = shape->virtual_stages,
                                       .placement = shape->placement,
                                       .workers = 1};
    const int stages = mtlm_layout_stages(&layout);
    double *one = mtlm_calloc(stages, sizeof(*one));
    double *most = mtlm_calloc(shape->ranks, sizeof(*most));
    const struct mtlm_boxes boxes = {.layout = &layout,
                                     .microbatches = shape->microbatches,
                                     .pieces = 1,
                                     .forward = one,
                                     .backward = one,
                                     .weight = one,
                                     .memory = one};
    const struct mtlm_order_limit limit = {most, {.weight_share = 1}};
    struct mtlm_box_order order = mtlm_order_create(&boxes);
    struct mtlm_order_file_notes notes;
    struct mtlm_error err = {0};

    for (int k = 0; k < stages; k++)
        one[k] = 1;
    for (int r = 0; r < shape->ranks; r++)
        most[r] = 3;
    if (mtlm_order_file_read("fuzz", &boxes, &limit, &order, &notes, &err) < 0)
        fuzz_refused(&err);
    for (int r = 0; r < order.ranks; r++)
        fuzz_look(order.box[r], order.n[r] * sizeof(int));
    if (order.lane)
        fuzz_look(order.lane, mtlm_boxes_count(&boxes) * sizeof(int));
    fuzz_look_at_text(notes.late);
    mtlm_order_free(&order);
    free(one);
    free(most);
}

void fuzz_order(const uint8_t *data, size_t bytes)
{
    struct mtlm_order_shape shape;
    struct mtlm_error err = {0};

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_order_rows_shape("fuzz", &shape, &err) < 0)
        fuzz_refused(&err);
    else
        read_order(&shape);
}
