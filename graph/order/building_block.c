/* Orders from building blocks: the grid, its memory, and earlier slots. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/order/building_block.h"
#include "runtime/base/memory.h"

/* The passes of a microbatch on a rank, in the order of dependencies. */
enum pass { FIRST_F, SECOND_F, SECOND_B, FIRST_B, PASSES };

/* A block begins every so many slots: the passes and two W. */
enum { INTERVAL = 6 };

enum { FREE = -1 };

/* Sets offset[] to the slots of the first microbatch's passes on a rank. */
typedef void (*block_fn)(int p, int rank, int offset[PASSES]);

static void v_half(int p, int rank, int offset[PASSES])
{
    const int wait = p % 2 == 0 ? 3 : 0;

    offset[FIRST_F] = 2 * rank;
    offset[SECOND_F] = 3 * p - rank - 2;
    offset[SECOND_B] = 3 * p + wait + 2 * rank - 1;
    offset[FIRST_B] = 6 * p + wait - rank - 2;
}

static void v_min(int p, int rank, int offset[PASSES])
{
    const int wait = p % 3 == 0 ? 2 : 0;

    offset[FIRST_F] = rank;
    offset[SECOND_F] = 2 * p - rank - 1;
    offset[SECOND_B] = 2 * p + wait + rank;
    offset[FIRST_B] = 4 * p + wait - rank - 1;
}

/* The grid. */
struct grid {
    int p, m, slots;
    int *pass; /* [p][slots] the pass in a slot, or FREE */
    int *slot; /* [p][PASSES][m] the slot of a pass */
    int peak;  /* passes in memory on the fullest rank, at the start */
};

static int *pass_at(const struct grid *g, int rank, int slot)
{
    return &g->pass[rank * g->slots + slot];
}

static int *slot_of(const struct grid *g, int rank, int pass, int microbatch)
{
    return &g->slot[(rank * PASSES + pass) * g->m + microbatch];
}

static bool is_forward(int pass)
{
    return pass == FIRST_F || pass == SECOND_F;
}

/* The most activations that a rank holds: each F takes one; a free slot runs
 * the W of an earlier B and returns one. */
static int peak_of(const struct grid *g, int rank)
{
    int weights = 0, used = 0, peak = 0;

    for (int s = 0; s < g->slots; s++) {
        const int pass = *pass_at(g, rank, s);

        if (pass == FREE && weights > 0) {
            weights--;
            used--;
        } else if (pass != FREE && is_forward(pass)) {
            used++;
        } else if (pass != FREE) {
            weights++;
        }
        peak = used > peak ? used : peak;
    }
    return peak;
}

/* ---- earlier slots ---- */

/* The slot of what the pass waits for, or -1. */
static int slot_before(const struct grid *g, int rank, int pass, int microbatch)
{
    const bool down = pass == FIRST_F || pass == SECOND_B;
    const int peer = down ? rank - 1 : rank + 1;

    if (peer >= 0 && peer < g->p)
        return *slot_of(g, peer, pass, microbatch);
    return pass == FIRST_F ? -1 : *slot_of(g, rank, pass - 1, microbatch);
}

/* The first slot that the pass may take. */
static int first_slot(const struct grid *g, int rank, int pass, int microbatch)
{
    int first = slot_before(g, rank, pass, microbatch);

    if (microbatch > 0 && *slot_of(g, rank, pass, microbatch - 1) > first)
        first = *slot_of(g, rank, pass, microbatch - 1);
    return first + 1;
}

static void move_earlier(const struct grid *g, int rank, int pass,
                         int microbatch)
{
    int *slot = slot_of(g, rank, pass, microbatch);

    for (int s = first_slot(g, rank, pass, microbatch); s < *slot; s++) {
        if (*pass_at(g, rank, s) != FREE)
            continue;
        *pass_at(g, rank, s) = pass;
        *pass_at(g, rank, *slot) = FREE;
        if (peak_of(g, rank) <= g->peak) {
            *slot = s;
            return;
        }
        *pass_at(g, rank, s) = FREE;
        *pass_at(g, rank, *slot) = pass;
    }
}

/* ---- the grid ---- */

static void place_blocks(struct grid *g, block_fn block)
{
    for (int s = 0; s < g->p * g->slots; s++)
        g->pass[s] = FREE;
    for (int r = 0; r < g->p; r++) {
        int offset[PASSES], peak;

        block(g->p, r, offset);
        for (int pass = 0; pass < PASSES; pass++)
            for (int i = 0; i < g->m; i++) {
                *slot_of(g, r, pass, i) = offset[pass] + INTERVAL * i;
                *pass_at(g, r, offset[pass] + INTERVAL * i) = pass;
            }
        peak = peak_of(g, r);
        g->peak = peak > g->peak ? peak : g->peak;
    }
}

/* Slot after slot: what a pass waits for moves before the pass.  The blocks
 * stay in their slots from the first rank's first B of its first chunk to its
 * last F of that chunk. */
static void move_ends(const struct grid *g)
{
    const int stable = *slot_of(g, 0, FIRST_B, 0);
    const int drain = *slot_of(g, 0, FIRST_F, g->m - 1);
    int *was = mtlm_calloc(g->p * g->slots, sizeof(*was));
    int *next = mtlm_calloc(g->p * PASSES, sizeof(*next));

    memcpy(was, g->pass, g->p * g->slots * sizeof(*was));
    for (int s = 0; s < g->slots; s++)
        for (int r = 0; r < g->p; r++) {
            const int pass = was[r * g->slots + s];
            const int i = pass == FREE ? 0 : next[r * PASSES + pass]++;

            if (pass != FREE && (s < stable || s > drain))
                move_earlier(g, r, pass, i);
        }
    free(next);
    free(was);
}

/* ---- orders ---- */

/* A rank's W that wait, each chunk's oldest first. */
struct waiting {
    int ready[2], run[2]; /* microbatches whose B, whose W has run */
};

/* Runs a W that waits, of the second chunk first.  Returns whether there was
 * one. */
static bool append_weight(const struct mtlm_boxes *boxes, int rank,
                          struct waiting *w, struct mtlm_box_order *order)
{
    for (int chunk = 1; chunk >= 0; chunk--)
        if (w->run[chunk] < w->ready[chunk]) {
            mtlm_order_append_phase(order, boxes, MTLM_PHASE_WEIGHT,
                                    mtlm_box_stage(boxes, rank, chunk),
                                    w->run[chunk]++);
            return true;
        }
    return false;
}

static void append_rank(const struct grid *g, const struct mtlm_boxes *boxes,
                        int rank, struct mtlm_box_order *order)
{
    struct waiting w = {{0}, {0}};
    int next[PASSES] = {0};

    for (int s = 0; s < g->slots; s++) {
        const int pass = *pass_at(g, rank, s);
        const int chunk = pass == SECOND_F || pass == SECOND_B;

        if (pass == FREE) {
            append_weight(boxes, rank, &w, order);
            continue;
        }
        mtlm_order_append_phase(
            order, boxes,
            is_forward(pass) ? MTLM_PHASE_FORWARD : MTLM_PHASE_BACKWARD,
            mtlm_box_stage(boxes, rank, chunk), next[pass]++);
        if (!is_forward(pass))
            w.ready[chunk]++;
    }
    while (append_weight(boxes, rank, &w, order))
        ;
}

static void build(const struct mtlm_boxes *boxes, block_fn block,
                  struct mtlm_box_order *order)
{
    const int p = boxes->layout->pp, m = boxes->microbatches;
    /* A block spans less than six slots per rank and six more. */
    struct grid g = {.p = p, .m = m, .slots = INTERVAL * (p + m + 1)};

    g.pass = mtlm_calloc(p * g.slots, sizeof(int));
    g.slot = mtlm_calloc(p * PASSES * m, sizeof(int));
    place_blocks(&g, block);
    move_ends(&g);
    for (int r = 0; r < p; r++)
        append_rank(&g, boxes, r, order);
    free(g.slot);
    free(g.pass);
}

void mtlm_building_block_v_half(const struct mtlm_boxes *boxes,
                                struct mtlm_box_order *order)
{
    build(boxes, v_half, order);
}

void mtlm_building_block_v_min(const struct mtlm_boxes *boxes,
                               struct mtlm_box_order *order)
{
    build(boxes, v_min, order);
}
