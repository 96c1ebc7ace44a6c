/* Replays the starts and ends of an evaluation's tasks. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "tests/graph/peak.h"

/* At `time` the memory of a rank, and what its stage keeps, change. */
struct change {
    int64_t time;
    int rank, stage;
    double memory;
    int live, kept; /* until B, until W */
};

/* What is given back comes before what is taken. */
static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->memory > 0) - (y->memory > 0);
}

/* The n changes of the tasks; of W, the last piece counts. */
static int changes_of(const struct mtlm_evaluate *pipeline,
                      const struct mtlm_evaluation *e, const double *memory,
                      double weight_share, struct change *change)
{
    const int m = pipeline->microbatches;
    int *left = mtlm_calloc((size_t) mtlm_layout_stages(pipeline->layout) * m,
                            sizeof(*left));
    int n = 0;

    for (int i = 0; i < e->n_tasks; i++) {
        const struct mtlm_evaluated_task *t = &e->task[i];
        struct change c = {.rank = t->rank, .stage = t->stage};

        if (t->phase == MTLM_PHASE_FORWARD) {
            c.time = t->start_ns;
            c.memory = memory[t->stage];
            c.live = c.kept = 1;
        } else if (t->phase == MTLM_PHASE_BACKWARD) {
            c.time = t->end_ns;
            c.memory = -(1 - weight_share) * memory[t->stage];
            c.live = -1;
        } else {
            if (++left[t->stage * m + t->microbatch] < pipeline->pieces)
                continue;
            c.time = t->end_ns;
            c.memory = -weight_share * memory[t->stage];
            c.kept = -1;
        }
        change[n++] = c;
    }
    free(left);
    return n;
}

struct peak peak_of(const struct mtlm_evaluate *pipeline,
                    const struct mtlm_evaluation *e, const double *memory,
                    double weight_share)
{
    struct change *change = mtlm_calloc(e->n_tasks, sizeof(*change));
    const int n = changes_of(pipeline, e, memory, weight_share, change);
    double used[PEAK_MOST] = {0};
    int live[PEAK_MOST] = {0}, kept[PEAK_MOST] = {0};
    struct peak peak = {0};

    qsort(change, n, sizeof(*change), by_time);
    for (int i = 0; i < n; i++) {
        const struct change *c = &change[i];
        struct mtlm_window *w = &peak.window[c->stage];

        used[c->rank] += c->memory;
        live[c->stage] += c->live;
        kept[c->stage] += c->kept;
        peak.memory = fmax(peak.memory, used[c->rank]);
        w->w = live[c->stage] > w->w ? live[c->stage] : w->w;
        w->q = kept[c->stage] > w->q ? kept[c->stage] : w->q;
    }
    for (int k = 0; k < mtlm_layout_stages(pipeline->layout); k++)
        peak.window[k].q -= peak.window[k].w;
    free(change);
    return peak;
}
