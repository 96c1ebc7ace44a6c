/* Counts the slots of a rank, in pools or in the rings of each stage. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/order/slot_count.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* Slots from F to B, from F to W, from B to W. */
enum { UNTIL_BACKWARD, UNTIL_WEIGHT, GRADIENTS, KINDS };

/* Slots of one kind. */
struct slots {
    int in_use, n; /* n: slots so far */
    /* A ring of a stage: its microbatches in use, none of which lies outside
     * oldest .. newest.  A pool: NULL. */
    bool *used;
    int oldest, newest;
};

/* A level: so much memory of each microbatch, on one or several stages. */
struct level {
    double memory;
    struct slots slots[KINDS];
};

struct mtlm_slot_count {
    const struct mtlm_boxes *boxes;
    double share[KINDS];
    struct level *level; /* [n_levels] */
    int n_levels;
    int *first, *end; /* [stages] levels first .. end - 1 of a stage */
};

/* ---- levels ---- */

/* A level for each stage of the rank. */
static void add_rings(struct mtlm_slot_count *c, int rank)
{
    c->n_levels = c->boxes->layout->virtual_stages;
    for (int l = 0; l < c->n_levels; l++) {
        const int k = mtlm_box_stage(c->boxes, rank, l);

        c->level[l].memory = c->boxes->memory[k];
        for (int i = 0; i < KINDS; i++)
            c->level[l].slots[i].used =
                mtlm_calloc(c->boxes->microbatches, sizeof(bool));
        c->first[k] = l;
        c->end[k] = l + 1;
    }
}

/* The first level is the memory that all stages have, the next level what all
 * but the smallest stages have, and so on. */
static void add_pools(struct mtlm_slot_count *c, int rank)
{
    const int v = c->boxes->layout->virtual_stages;
    double *memory = mtlm_calloc(v, sizeof(*memory));
    double below = 0;

    for (int i = 0; i < v; i++)
        memory[i] = c->boxes->memory[mtlm_box_stage(c->boxes, rank, i)];
    qsort(memory, v, sizeof(*memory), mtlm_compare_double);
    for (int i = 0; i < v; i++) {
        if (memory[i] > below)
            c->level[c->n_levels++].memory = memory[i] - below;
        below = fmax(below, memory[i]);
        for (int j = 0; j < v; j++) {
            const int k = mtlm_box_stage(c->boxes, rank, j);

            if (c->boxes->memory[k] == memory[i])
                c->end[k] = c->n_levels;
        }
    }
    free(memory);
}

/* Gives the levels of each stage the slots of gradients that take no memory. */
static void add_free_gradients(struct mtlm_slot_count *c, int rank)
{
    const struct mtlm_layout *layout = c->boxes->layout;
    const bool v_shaped = layout->placement == MTLM_PLACEMENT_V;
    const int each =
        fmax(fmax(2, layout->workers), v_shaped ? layout->pp / 2 : 0);

    for (int i = 0; i < layout->virtual_stages; i++) {
        const int k = mtlm_box_stage(c->boxes, rank, i);

        for (int l = c->first[k]; l < c->end[k]; l++)
            c->level[l].slots[GRADIENTS].n += each;
    }
}

struct mtlm_slot_count *mtlm_slot_count_create(
    const struct mtlm_boxes *boxes, int rank,
    const struct mtlm_slot_rules *rules)
{
    const int stages = mtlm_layout_stages(boxes->layout);
    const double until_weight =
        (rules->weight_share > 0 ? rules->weight_share : 1)
        - rules->gradient_share;
    struct mtlm_slot_count *c = mtlm_calloc(1, sizeof(*c));

    c->boxes = boxes;
    c->share[UNTIL_BACKWARD] = 1 - until_weight;
    c->share[UNTIL_WEIGHT] = until_weight;
    c->share[GRADIENTS] = rules->gradient_share;
    c->level = mtlm_calloc(boxes->layout->virtual_stages, sizeof(*c->level));
    c->first = mtlm_calloc(2 * stages, sizeof(*c->first));
    c->end = c->first + stages;
    if (rules->pooled)
        add_pools(c, rank);
    else
        add_rings(c, rank);
    add_free_gradients(c, rank);
    return c;
}

void mtlm_slot_count_destroy(struct mtlm_slot_count *c)
{
    for (int l = 0; l < c->n_levels; l++)
        for (int i = 0; i < KINDS; i++)
            free(c->level[l].slots[i].used);
    free(c->level);
    free(c->first);
    free(c);
}

/* ---- slots ---- */

/* Returns the slots that the microbatch and those in use need. */
static int slots_with(const struct slots *s, int microbatch)
{
    if (!s->used || s->in_use == 0)
        return s->in_use + 1;
    return (microbatch > s->newest ? microbatch : s->newest)
           - (microbatch < s->oldest ? microbatch : s->oldest) + 1;
}

static void take(struct slots *s, int microbatch)
{
    const int n = slots_with(s, microbatch);

    s->n = n > s->n ? n : s->n;
    if (s->in_use++ == 0)
        s->oldest = s->newest = microbatch;
    if (!s->used)
        return;
    s->used[microbatch] = true;
    s->oldest = microbatch < s->oldest ? microbatch : s->oldest;
    s->newest = microbatch > s->newest ? microbatch : s->newest;
}

static void give_back(struct slots *s, int microbatch)
{
    if (--s->in_use == 0 || !s->used) {
        if (s->used)
            s->used[microbatch] = false;
        return;
    }
    s->used[microbatch] = false;
    while (!s->used[s->oldest])
        s->oldest++;
    while (!s->used[s->newest])
        s->newest--;
}

/* ---- boxes ---- */

/* Sets first .. end - 1: the kinds of slots that a box of the phase takes. */
static void taken_kinds(enum mtlm_phase phase, int *first, int *end)
{
    static const int firsts[] = {[MTLM_PHASE_FORWARD] = UNTIL_BACKWARD,
                                 [MTLM_PHASE_BACKWARD] = GRADIENTS,
                                 [MTLM_PHASE_WEIGHT] = KINDS};

    *first = firsts[phase];
    *end = phase == MTLM_PHASE_FORWARD ? GRADIENTS : KINDS;
}

double mtlm_slot_count_growth(const struct mtlm_slot_count *c,
                              struct mtlm_box box)
{
    double growth = 0;
    int first, end;

    taken_kinds(box.phase, &first, &end);
    for (int l = c->first[box.stage]; l < c->end[box.stage]; l++)
        for (int i = first; i < end; i++) {
            const struct slots *s = &c->level[l].slots[i];
            const int more = slots_with(s, box.microbatch) - s->n;

            if (more > 0)
                growth += more * c->share[i] * c->level[l].memory;
        }
    return growth;
}

bool mtlm_slot_count_weight_helps(const struct mtlm_slot_count *c,
                                  struct mtlm_box box)
{
    const int kind = box.phase == MTLM_PHASE_FORWARD ? UNTIL_WEIGHT : GRADIENTS;

    for (int l = c->first[box.stage]; l < c->end[box.stage]; l++) {
        const struct slots *s = c->level[l].slots;

        if (s[GRADIENTS].in_use > 0
            && slots_with(&s[kind], box.microbatch) > s[kind].n)
            return true;
    }
    return false;
}

double mtlm_slot_count_start(struct mtlm_slot_count *c, struct mtlm_box box)
{
    const double growth = mtlm_slot_count_growth(c, box);
    int first, end;

    taken_kinds(box.phase, &first, &end);
    for (int l = c->first[box.stage]; l < c->end[box.stage]; l++)
        for (int i = first; i < end; i++)
            take(&c->level[l].slots[i], box.microbatch);
    return growth;
}

void mtlm_slot_count_end(struct mtlm_slot_count *c, struct mtlm_box box)
{
    for (int l = c->first[box.stage]; l < c->end[box.stage]; l++) {
        struct slots *s = c->level[l].slots;

        if (box.phase == MTLM_PHASE_BACKWARD)
            give_back(&s[UNTIL_BACKWARD], box.microbatch);
        if (box.phase == MTLM_PHASE_WEIGHT
            && box.piece == c->boxes->pieces - 1) {
            give_back(&s[UNTIL_WEIGHT], box.microbatch);
            give_back(&s[GRADIENTS], box.microbatch);
        }
    }
}

double mtlm_slot_count_run(struct mtlm_slot_count *c, struct mtlm_box box)
{
    const double growth = mtlm_slot_count_start(c, box);

    mtlm_slot_count_end(c, box);
    return growth;
}
