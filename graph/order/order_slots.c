/* Deals out slots in the order in which lives begin. */

#include "config.h"

#include <stdlib.h>

#include "graph/order/order_slots.h"
#include "graph/order/task_heap.h"
#include "runtime/base/memory.h"

/* A life by its begin. */
struct life_begin {
    int begin, number;
};

static int by_begin(const void *a, const void *b)
{
    const struct life_begin *x = a, *y = b;

    return x->begin != y->begin ? x->begin - y->begin : x->number - y->number;
}

/* Returns the lives in the order of their begins; the caller frees them. */
static struct life_begin *sort_lives(const struct mtlm_slot_life *life, int n)
{
    struct life_begin *begun = mtlm_calloc(n, sizeof(*begun));

    for (int i = 0; i < n; i++)
        begun[i] = (struct life_begin){life[i].begin, i};
    qsort(begun, n, sizeof(*begun), by_begin);
    return begun;
}

/* Deals out `slots` slots, and more where all are in use.  Returns their
 * number. */
static int deal(const struct mtlm_slot_life *life,
                const struct life_begin *begun, int n, int slots, int *slot)
{
    struct mtlm_task_heap given_back = {0}; /* slots by the end of their life */

    for (int i = 0; i < slots; i++)
        mtlm_task_heap_add(&given_back, (struct mtlm_heap_task){.number = i});
    for (int i = 0; i < n; i++) {
        struct mtlm_heap_task taken;

        if (given_back.n > 0
            && mtlm_task_heap_key(&given_back) <= begun[i].begin)
            taken = mtlm_task_heap_take(&given_back);
        else
            taken = (struct mtlm_heap_task){.number = slots++};
        slot[begun[i].number] = taken.number;
        taken.key = life[begun[i].number].end;
        mtlm_task_heap_add(&given_back, taken);
    }
    mtlm_task_heap_free(&given_back);
    return slots;
}

int mtlm_order_slots_deal(const struct mtlm_slot_life *life, int n,
                          struct mtlm_slot_spare spare, int *slot)
{
    struct life_begin *begun = sort_lives(life, n);
    int slots = deal(life, begun, n, 0, slot) + spare.more;

    slots = slots > spare.least ? slots : spare.least;
    deal(life, begun, n, slots, slot);
    free(begun);
    return slots;
}

/* ---- edges ---- */

/* From the box of one phase to the box of another one. */
struct span {
    enum mtlm_phase from, to;
};

static const struct span spans[][2] = {
    [MTLM_SLOT_UNTIL_WEIGHT] = {{MTLM_PHASE_FORWARD, MTLM_PHASE_WEIGHT}},
    [MTLM_SLOT_UNTIL_BACKWARD] = {{MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD}},
    [MTLM_SLOT_EXCHANGED] = {{MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD},
                             {MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT}},
};

/* The lives of a rank: of span j, chunk c and microbatch i at
 * (j * v + c) * m + i. */
struct rank_lives {
    const struct mtlm_boxes *boxes;
    int rank, each, n; /* each: lives of a span */
    const struct span *span;
    struct mtlm_slot_life *life; /* [n] */
    int *slot;                   /* [n] */
};

/* Returns the box of a phase of life number i. */
static struct mtlm_box box_of(const struct rank_lives *l, enum mtlm_phase phase,
                              int i)
{
    const int m = l->boxes->microbatches;

    return (struct mtlm_box){
        phase, mtlm_box_stage(l->boxes, l->rank, i % l->each / m), i % m, 0};
}

/* Sets the begin of the lives that begin with a box, or the end of those that
 * end with the box.  number < 0: no box. */
static void note_lives(struct rank_lives *l, int number, bool ends, int place)
{
    const struct mtlm_box box =
        number < 0 ? (struct mtlm_box){0} : mtlm_box_at(l->boxes, number);
    const int first =
        mtlm_layout_chunk(l->boxes->layout, box.stage) * l->boxes->microbatches
        + box.microbatch;

    for (int i = first; i < l->n && number >= 0; i += l->each) {
        if (!ends && box.phase == l->span[i / l->each].from)
            l->life[i].begin = place;
        if (ends && box.phase == l->span[i / l->each].to)
            l->life[i].end = place;
    }
}

/* A box ends when the next box of its lane starts. */
static void find_lives(struct rank_lives *l, const struct mtlm_box_order *order)
{
    const int lanes = mtlm_order_lanes(order, l->rank), n = order->n[l->rank];
    int *running = mtlm_calloc(lanes, sizeof(*running));

    for (int lane = 0; lane < lanes; lane++)
        running[lane] = -1;
    for (int j = 0; j < n; j++) {
        const int number = order->box[l->rank][j];
        int *before = &running[mtlm_order_lane(order, number)];

        note_lives(l, *before, true, j);
        note_lives(l, number, false, j);
        *before = number;
    }
    for (int lane = 0; lane < lanes; lane++)
        note_lives(l, running[lane], true, n);
    free(running);
}

/* Returns the number of edges. */
static int find_edges(const struct rank_lives *l, int slots,
                      struct mtlm_slot_edge *edge)
{
    struct life_begin *begun = sort_lives(l->life, l->n);
    int *last = mtlm_calloc(slots, sizeof(*last)), n = 0;

    for (int s = 0; s < slots; s++)
        last[s] = -1;
    for (int i = 0; i < l->n; i++) {
        const int number = begun[i].number, before = last[l->slot[number]];

        last[l->slot[number]] = number;
        if (before >= 0)
            edge[n++] = (struct mtlm_slot_edge){
                box_of(l, l->span[before / l->each].to, before),
                box_of(l, l->span[number / l->each].from, number)};
    }
    free(last);
    free(begun);
    return n;
}

int mtlm_order_slots_edges(const struct mtlm_box_order *order,
                           const struct mtlm_boxes *boxes, int rank,
                           enum mtlm_slot_kind kind,
                           struct mtlm_slot_edge *edge, int *n_edges)
{
    const int each = boxes->layout->virtual_stages * boxes->microbatches;
    const int n = kind == MTLM_SLOT_EXCHANGED ? 2 * each : each;
    struct rank_lives l = {boxes, rank, each, n, spans[kind], NULL, NULL};
    int slots;

    l.life = mtlm_calloc(n, sizeof(*l.life));
    l.slot = mtlm_calloc(n, sizeof(*l.slot));
    find_lives(&l, order);
    slots = mtlm_order_slots_deal(l.life, n, (struct mtlm_slot_spare){0, 0},
                                  l.slot);
    if (edge)
        *n_edges = find_edges(&l, slots, edge);
    free(l.life);
    free(l.slot);
    return slots;
}
