#include "config.h"

#include <assert.h>
#include <limits.h>

#include "graph/schedule/priority.h"

/* Of a class: how many have a number, and how many go before. */
static int64_t width(const struct mtlm_priority *p)
{
    int64_t m = p->microbatches;

    if (p->pipeline == MTLM_PIPELINE_INTERLEAVED)
        m = (m + p->stages - 1) / p->stages * p->stages;
    return p->chunks * m;
}

enum { CLASSES = 4 }; /* W, B, F, iteration */

int64_t mtlm_priority_span(const struct mtlm_priority *p)
{
    return CLASSES * width(p);
}

/* 0: least urgent. */
static int class_of(const struct mtlm_priority *p, enum mtlm_phase phase)
{
    const bool fused = mtlm_pipeline_fused(p->pipeline);

    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return (p->backward_first ? 1 : 2) - fused;
    case MTLM_PHASE_BACKWARD:
        return (p->backward_first ? 2 : 1) - fused;
    default:
        return fused ? 2 : 0;
    }
}

/* Groups of p microbatches, in each chunk after chunk. */
static int in_groups(const struct mtlm_priority *p, int microbatch, int turn)
{
    const int group = microbatch / p->stages * p->stages;

    return group * p->chunks + turn * p->stages + microbatch - group;
}

static int before(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk)
{
    const int v = p->chunks;
    const bool groups = p->pipeline == MTLM_PIPELINE_INTERLEAVED;

    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return groups ? in_groups(p, microbatch, chunk)
                      : (v - 1 - chunk) * p->microbatches + microbatch;
    case MTLM_PHASE_BACKWARD:
        return groups ? in_groups(p, microbatch, v - 1 - chunk)
                      : microbatch * v + chunk;
    default:
        return microbatch * v + v - 1 - chunk;
    }
}

int mtlm_priority(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk)
{
    int first;

    if (microbatch < 0 || phase == MTLM_PHASE_OPTIMIZER
        || phase == MTLM_PHASE_INIT)
        return mtlm_priority_span(p) - 1;
    first = before(p, phase, microbatch, chunk);
    assert(first < width(p));
    return (class_of(p, phase) + 1) * width(p) - 1 - first;
}

int64_t mtlm_priority_cycle(const struct mtlm_priority *p)
{
    return ((int64_t) INT_MAX - INT_MIN) / mtlm_priority_span(p);
}

int mtlm_priority_base(const struct mtlm_priority *p, int64_t iteration)
{
    const int64_t e = iteration % mtlm_priority_cycle(p);

    return INT_MAX - mtlm_priority_span(p) * (e + 1) + 1;
}
