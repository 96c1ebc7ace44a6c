#include "config.h"

#include <assert.h>
#include <limits.h>

#include "graph/priority.h"

/* Classes from the least urgent one. */
enum { CLASS_W, CLASS_B, CLASS_F, CLASS_ITERATION, CLASSES };

/* Numbers in a class: one per microbatch and chunk. */
static int64_t width(const struct mtlm_priority *p)
{
    return (int64_t) p->chunks * p->microbatches;
}

int64_t mtlm_priority_span(const struct mtlm_priority *p)
{
    return CLASSES * width(p);
}

int mtlm_priority(const struct mtlm_priority *p, enum mtlm_phase phase,
                  int microbatch, int chunk)
{
    const int v = p->chunks;
    int class, before; /* how many of the class go first */

    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        class = CLASS_F;
        before = (v - 1 - chunk) * p->microbatches + microbatch;
        break;
    case MTLM_PHASE_BACKWARD:
        class = CLASS_B;
        before = microbatch * v + chunk;
        break;
    case MTLM_PHASE_WEIGHT:
        class = CLASS_W;
        before = microbatch * v + v - 1 - chunk;
        break;
    default:
        return mtlm_priority_span(p) - 1;
    }
    if (microbatch < 0)
        return mtlm_priority_span(p) - 1;
    assert(before < width(p));
    return (class + 1) * width(p) - 1 - before;
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
