/* Priorities as one integer: iteration, class, place in the class. */

#include "config.h"

#include <assert.h>
#include <limits.h>

#include "graph/schedule/priority.h"
#include "runtime/base/round_up.h"

/* ---- places in a class ---- */

static int64_t width_by_depth(const struct mtlm_priority *p)
{
    return p->chunks * (int64_t) p->microbatches;
}

static int place_by_depth(const struct mtlm_priority *p, enum mtlm_phase phase,
                          int microbatch, int chunk)
{
    const int v = p->chunks;

    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return (v - 1 - chunk) * p->microbatches + microbatch;
    case MTLM_PHASE_BACKWARD:
        return microbatch * v + chunk;
    default:
        return microbatch * v + v - 1 - chunk;
    }
}

/* The last group may have less than p microbatches, and takes as many places
 * as the others. */
static int64_t width_by_groups(const struct mtlm_priority *p)
{
    const int64_t m = p->microbatches;

    return p->chunks * mtlm_round_up(m, p->stages);
}

/* turn: how many chunks the group has been through. */
static int place_in_group(const struct mtlm_priority *p, int microbatch,
                          int turn)
{
    const int group = microbatch / p->stages * p->stages;

    return group * p->chunks + turn * p->stages + microbatch - group;
}

static int place_by_groups(const struct mtlm_priority *p, enum mtlm_phase phase,
                           int microbatch, int chunk)
{
    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return place_in_group(p, microbatch, chunk);
    case MTLM_PHASE_BACKWARD:
        return place_in_group(p, microbatch, p->chunks - 1 - chunk);
    default:
        return place_by_depth(p, phase, microbatch, chunk);
    }
}

const struct mtlm_priority_order mtlm_priority_by_depth = {width_by_depth,
                                                           place_by_depth};
const struct mtlm_priority_order mtlm_priority_by_groups = {width_by_groups,
                                                            place_by_groups};

/* ---- numbers ---- */

enum { CLASSES = 4 }; /* W, B, F, iteration */

/* The most priorities of a class whose priorities roll. */
#define ROLLING_PLACES (INT64_C(1) << 29)

/* Returns the distance between classes. */
static int64_t class_width(const struct mtlm_priority *p)
{
    const int64_t width = p->order->width(p);

    return p->rolling ? ROLLING_PLACES / width * width : width;
}

int mtlm_priority_index(const struct mtlm_priority *p, enum mtlm_phase phase,
                        int microbatch, int chunk)
{
    const int kind = phase == MTLM_PHASE_FORWARD    ? 0
                     : phase == MTLM_PHASE_BACKWARD ? 1
                                                    : 2;

    return (kind * p->chunks + chunk) * p->microbatches + microbatch;
}

int64_t mtlm_priority_span(const struct mtlm_priority *p)
{
    if (p->place)
        return 3 * (int64_t) p->chunks * p->microbatches + 1;
    return CLASSES * class_width(p);
}

/* Returns 0 for the least urgent class. */
static int class_of(const struct mtlm_priority *p, enum mtlm_phase phase)
{
    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return 2 - p->fused;
    case MTLM_PHASE_BACKWARD:
        return 1 - p->fused;
    default:
        return p->fused ? 2 : 0;
    }
}

int mtlm_priority(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk)
{
    const int64_t width = p->order->width(p);
    int place;

    assert(!p->rolling || !p->place);
    if (microbatch < 0 || phase == MTLM_PHASE_OPTIMIZER
        || phase == MTLM_PHASE_INIT)
        return p->place ? mtlm_priority_span(p) - 1
                        : (CLASSES - 1) * class_width(p) + width - 1;
    if (p->place)
        return mtlm_priority_span(p) - 2
               - (phase == MTLM_PHASE_EVAL
                      ? place_by_depth(p, phase, microbatch, chunk)
                      : p->place[mtlm_priority_index(p, phase, microbatch,
                                                     chunk)]);
    place = p->order->place(p, phase, microbatch, chunk);
    assert(place < width);
    return class_of(p, phase) * class_width(p) + width - 1 - place;
}

int64_t mtlm_priority_cycle(const struct mtlm_priority *p)
{
    if (p->rolling)
        return class_width(p) / p->order->width(p);
    return ((int64_t) INT_MAX - INT_MIN) / mtlm_priority_span(p);
}

int mtlm_priority_base(const struct mtlm_priority *p, int64_t iteration)
{
    const int64_t e = iteration % mtlm_priority_cycle(p);

    if (p->rolling)
        return (int) -(e * p->order->width(p));
    return INT_MAX - mtlm_priority_span(p) * (e + 1) + 1;
}
