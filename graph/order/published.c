/* The table of published schedules, their formulas, and how an order is built.
 */

#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/order/building_block.h"
#include "graph/order/dualpipe_v.h"
#include "graph/order/published.h"
#include "graph/order/published_loop.h"
#include "graph/order/rounding.h"
#include "graph/order/rounds.h"

/* ---- formulas ---- */

/* Time of a microbatch's boxes on a rank. */
static double all(const struct mtlm_published_size *s)
{
    return s->forward + s->backward + s->weight;
}

static double time_fused(const struct mtlm_published_size *s)
{
    return s->m * all(s) + (s->p - 1) * all(s) / s->v;
}

static double time_zb_h1(const struct mtlm_published_size *s)
{
    return s->m * all(s) + (s->p - 1) * (s->forward + s->backward - s->weight);
}

static double span_zb_h2(const struct mtlm_published_size *s)
{
    return s->m * all(s)
           + (s->p - 1) * (s->forward + s->backward - 2 * s->weight);
}

static double time_zb_v(const struct mtlm_published_size *s)
{
    return s->m * all(s) + (s->p - 1) * s->forward / 2;
}

static double memory_gpipe(const struct mtlm_published_size *s)
{
    return s->m;
}

static double memory_1f1b(const struct mtlm_published_size *s)
{
    return fmin(s->p, s->m);
}

static double memory_interleaved(const struct mtlm_published_size *s)
{
    return fmin((2.0 * (s->p - 1) + (s->v - 1) * s->p + 1) / s->v, s->m);
}

static double memory_zb_h2(const struct mtlm_published_size *s)
{
    return fmin(2 * s->p - 1, s->m);
}

static double memory_zb_2p(const struct mtlm_published_size *s)
{
    return 2 * s->p;
}

static double memory_v_half(const struct mtlm_published_size *s)
{
    return (s->p + 2) / 2;
}

static double memory_v_min(const struct mtlm_published_size *s)
{
    return (s->p + 4) / 3;
}

static double memory_dualpipe_v(const struct mtlm_published_size *s)
{
    return s->p + .5;
}

/* ---- the table ---- */

const struct mtlm_published mtlm_published[MTLM_PUBLISHED_COUNT] = {
    {.name = "gpipe",
     .least_chunks = 1,
     .most_chunks = 1,
     .fused = true,
     .time = time_fused,
     .memory = memory_gpipe,
     .build = mtlm_published_loop_breadth_first},
    {.name = "1f1b",
     .least_chunks = 1,
     .most_chunks = 1,
     .fused = true,
     .time = time_fused,
     .memory = memory_1f1b,
     .build = mtlm_published_loop_1f1b},
    {.name = "interleaved",
     .least_chunks = 2,
     .placement = MTLM_PLACEMENT_LOOP,
     .multiple = true,
     .fused = true,
     .time = time_fused,
     .memory = memory_interleaved,
     .build = mtlm_published_loop_interleaved},
    {.name = "breadth-first",
     .least_chunks = 2,
     .placement = MTLM_PLACEMENT_LOOP,
     .least_per_rank = 1,
     .fused = true,
     .time = time_fused,
     .memory = memory_gpipe,
     .build = mtlm_published_loop_breadth_first},
    {.name = "zb-h1",
     .least_chunks = 1,
     .most_chunks = 1,
     .time = time_zb_h1,
     .memory = memory_1f1b,
     .build = mtlm_published_loop_zb_h1},
    {.name = "zb-h2",
     .least_chunks = 1,
     .most_chunks = 1,
     .time = span_zb_h2,
     .by_span = true,
     .memory = memory_zb_h2,
     .build = mtlm_published_loop_zb_h2},
    {.name = "zb-1p",
     .least_chunks = 1,
     .most_chunks = 1,
     .memory = memory_1f1b},
    {.name = "zb-2p",
     .least_chunks = 1,
     .most_chunks = 1,
     .memory = memory_zb_2p},
    {.name = "zb-v",
     .least_chunks = 2,
     .most_chunks = 2,
     .placement = MTLM_PLACEMENT_V,
     .time = time_zb_v,
     .memory = memory_1f1b},
    {.name = "v-half",
     .least_chunks = 2,
     .most_chunks = 2,
     .placement = MTLM_PLACEMENT_V,
     .memory = memory_v_half,
     .build = mtlm_building_block_v_half},
    {.name = "v-min",
     .least_chunks = 2,
     .most_chunks = 2,
     .placement = MTLM_PLACEMENT_V,
     .memory = memory_v_min,
     .build = mtlm_building_block_v_min},
    {.name = "dualpipe-v",
     .least_chunks = 2,
     .most_chunks = 2,
     .placement = MTLM_PLACEMENT_V,
     .least_per_rank = 2,
     .memory = memory_dualpipe_v,
     .build = mtlm_dualpipe_v_build},
};

const struct mtlm_published *mtlm_published_find(const char *name)
{
    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++)
        if (strcmp(mtlm_published[i].name, name) == 0)
            return &mtlm_published[i];
    return NULL;
}

const char *mtlm_published_lacks(const struct mtlm_published *published,
                                 const struct mtlm_boxes *boxes)
{
    const struct mtlm_layout *layout = boxes->layout;
    const int v = layout->virtual_stages, m = boxes->microbatches;

    if (v < published->least_chunks)
        return "two virtual stages per rank";
    if (published->most_chunks > 0 && v > published->most_chunks)
        return published->most_chunks == 1 ? "one virtual stage per rank"
                                           : "two virtual stages per rank";
    if (v > 1 && layout->placement != published->placement)
        return published->placement == MTLM_PLACEMENT_V ? "placement v"
                                                        : "placement loop";
    if (published->multiple && m % layout->pp != 0)
        return "a number of microbatches that is a multiple of the ranks";
    if (m < published->least_per_rank * layout->pp)
        return published->least_per_rank == 1
                   ? "a microbatch for each rank"
                   : "two microbatches for each rank";
    return NULL;
}

/* ---- orders ---- */

/* The memory of a microbatch on the rank where it needs most. */
static double microbatch_memory(const struct mtlm_boxes *boxes)
{
    double most = 0;

    for (int r = 0; r < boxes->layout->pp; r++) {
        double memory = 0;

        for (int chunk = 0; chunk < boxes->layout->virtual_stages; chunk++)
            memory += boxes->memory[mtlm_box_stage(boxes, r, chunk)];
        most = fmax(most, memory);
    }
    return most;
}

/* Builds the order in the memory that its formula gives.  The formula is of
 * equal stages: unequal ones may need more. */
static double build_in_rounds(double memory, struct mtlm_walk *walk,
                              struct mtlm_box_order *order)
{
    enum { TRIES = 100 }; /* the last one has all memory that an order needs */
    const double more = 1.1;
    double makespan = INFINITY;

    for (int i = 0; i < TRIES && isinf(makespan); i++) {
        makespan = mtlm_rounds_best(memory, walk, order);
        memory *= more;
    }
    return makespan;
}

double mtlm_published_build(const struct mtlm_published *published,
                            struct mtlm_walk *walk, double most_memory,
                            struct mtlm_box_order *order)
{
    const struct mtlm_boxes *boxes = walk->boxes;
    const struct mtlm_published_size size = {.p = boxes->layout->pp,
                                             .v = boxes->layout->virtual_stages,
                                             .m = boxes->microbatches};
    const double own = published->memory(&size) * microbatch_memory(boxes);

    for (int r = 0; r < order->ranks; r++)
        order->n[r] = 0;
    if (published->build == NULL)
        return most_memory > 0
                   ? mtlm_rounds_best(fmin(own, most_memory), walk, order)
                   : build_in_rounds(own, walk, order);
    published->build(boxes, order);
    if (most_memory > 0
        && mtlm_order_peak(order, boxes)
               > most_memory * (1 + MTLM_MEMORY_ROUNDING))
        return INFINITY;
    return mtlm_walk(walk, order);
}
