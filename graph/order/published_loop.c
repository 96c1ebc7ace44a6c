/* Published orders of placement loop, box by box. */

#include "config.h"

#include "graph/order/published_loop.h"

/* A rank's order while it grows. */
struct loop_rank {
    const struct mtlm_boxes *boxes;
    struct mtlm_box_order *order;
    int p, v, m, rank;
};

static struct loop_rank rank_of(const struct mtlm_boxes *boxes,
                                struct mtlm_box_order *order, int rank)
{
    return (struct loop_rank){.boxes = boxes,
                              .order = order,
                              .p = boxes->layout->pp,
                              .v = boxes->layout->virtual_stages,
                              .m = boxes->microbatches,
                              .rank = rank};
}

static void append(const struct loop_rank *r, enum mtlm_phase phase, int chunk,
                   int microbatch)
{
    mtlm_order_append_phase(r->order, r->boxes, phase,
                            mtlm_box_stage(r->boxes, r->rank, chunk),
                            microbatch);
}

/* B and its W. */
static void append_both(const struct loop_rank *r, int chunk, int microbatch)
{
    append(r, MTLM_PHASE_BACKWARD, chunk, microbatch);
    append(r, MTLM_PHASE_WEIGHT, chunk, microbatch);
}

void mtlm_published_loop_breadth_first(const struct mtlm_boxes *boxes,
                                       struct mtlm_box_order *order)
{
    for (int i = 0; i < boxes->layout->pp; i++) {
        const struct loop_rank r = rank_of(boxes, order, i);

        for (int chunk = 0; chunk < r.v; chunk++)
            for (int j = 0; j < r.m; j++)
                append(&r, MTLM_PHASE_FORWARD, chunk, j);
        for (int chunk = r.v - 1; chunk >= 0; chunk--)
            for (int j = 0; j < r.m; j++)
                append_both(&r, chunk, j);
    }
}

/* ---- F and B in turn ---- */

/* The microbatch of a rank's pass number n, in groups of p. */
static int microbatch_of(const struct loop_rank *r, int n)
{
    return n / (r->p * r->v) * r->p + n % r->p;
}

/* The chunk of a rank's F number n. */
static int chunk_of(const struct loop_rank *r, int n)
{
    return n / r->p % r->v;
}

/* So many F, then F and B in turn, then the B that are left. */
static void append_in_turn(const struct loop_rank *r, int first)
{
    const int n = r->m * r->v;

    for (int i = 0; i < n + first; i++) {
        const int back = i - first;

        if (i < n)
            append(r, MTLM_PHASE_FORWARD, chunk_of(r, i), microbatch_of(r, i));
        if (back >= 0)
            append_both(r, r->v - 1 - chunk_of(r, back),
                        microbatch_of(r, back));
    }
}

void mtlm_published_loop_1f1b(const struct mtlm_boxes *boxes,
                              struct mtlm_box_order *order)
{
    for (int i = 0; i < boxes->layout->pp; i++) {
        const struct loop_rank r = rank_of(boxes, order, i);

        append_in_turn(&r, r.p - i - 1);
    }
}

void mtlm_published_loop_interleaved(const struct mtlm_boxes *boxes,
                                     struct mtlm_box_order *order)
{
    for (int i = 0; i < boxes->layout->pp; i++) {
        const struct loop_rank r = rank_of(boxes, order, i);

        append_in_turn(&r, (r.p - i - 1) * 2 + (r.v - 1) * r.p);
    }
}

/* ---- W apart ---- */

/* So many F before the first B; W so many microbatches behind B. */
static void append_apart(const struct loop_rank *r, int first, int behind)
{
    for (int i = 0; i < first && i < r->m; i++)
        append(r, MTLM_PHASE_FORWARD, 0, i);
    for (int i = 0; i < r->m + behind; i++) {
        if (i < r->m)
            append(r, MTLM_PHASE_BACKWARD, 0, i);
        if (i >= behind)
            append(r, MTLM_PHASE_WEIGHT, 0, i - behind);
        if (i + first < r->m)
            append(r, MTLM_PHASE_FORWARD, 0, i + first);
    }
}

void mtlm_published_loop_zb_h1(const struct mtlm_boxes *boxes,
                               struct mtlm_box_order *order)
{
    for (int i = 0; i < boxes->layout->pp; i++) {
        const struct loop_rank r = rank_of(boxes, order, i);

        append_apart(&r, r.p - i, i);
    }
}

void mtlm_published_loop_zb_h2(const struct mtlm_boxes *boxes,
                               struct mtlm_box_order *order)
{
    for (int i = 0; i < boxes->layout->pp; i++) {
        const struct loop_rank r = rank_of(boxes, order, i);

        append_apart(&r, 2 * (r.p - i) - 1, 2 * i);
    }
}
