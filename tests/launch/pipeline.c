/* Schedules out of windows and priorities, as the graph makes them: stage k
 * holds p - k microbatches between F and B, and, with W apart, k more
 * between B and W. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "codelets/op_list.h"
#include "pipeline.h"
#include "launch/trace/summarize.h"
#include "runtime/base/memory.h"

enum { F, B, W, CLASSES };

struct simulation {
    const struct pipeline *pipeline;
    int iteration;
    /* end[(class * stages + stage) * microbatches + microbatch], in units;
     * -1: not started. */
    int *end;
    struct mtlm_record *record;
    size_t n, capacity;
};

static int *end_of(struct simulation *s, int class, int stage, int microbatch)
{
    const struct pipeline *p = s->pipeline;

    return &s->end[(class * p->stages + stage) * p->microbatches + microbatch];
}

/* Whether that is done at time t; nothing comes before microbatch 0. */
static bool done(struct simulation *s, int class, int stage, int microbatch,
                 int t)
{
    int end;

    if (microbatch < 0)
        return true;
    end = *end_of(s, class, stage, microbatch);
    return end >= 0 && end <= t;
}

static bool ready(struct simulation *s, int class, int k, int i, int t)
{
    const int p = s->pipeline->stages;
    const bool fused = s->pipeline->fused;

    if (*end_of(s, class, k, i) >= 0)
        return false;
    switch (class) {
    case F:
        return (k == 0 || done(s, F, k - 1, i, t))
               && done(s, fused ? W : B, k, i - (p - k), t)
               && done(s, W, k, i - (p - k) - k, t);
    case B:
        return done(s, F, k, i, t)
               && (k == p - 1 || done(s, fused ? W : B, k + 1, i, t));
    default:
        return done(s, B, k, i, t);
    }
}

static void add(struct simulation *s, struct mtlm_record r, double from,
                double to)
{
    const double unit = s->pipeline->unit_ns;

    s->record =
        mtlm_make_room(s->record, &s->capacity, s->n + 1, sizeof(*s->record));
    r.iteration = s->iteration;
    r.start_ns = from * unit;
    r.end_ns = to * unit;
    r.job = s->n;
    r.group = r.group_root = -1;
    r.match = -1;
    s->record[s->n++] = r;
}

static void add_task(struct simulation *s, int class, int k, int i, int t,
                     double ready_at)
{
    static const int op[] = {MTLM_OP_LINEAR_FWD, MTLM_OP_LINEAR_DGRAD,
                             MTLM_OP_LINEAR_WGRAD};
    const int pieces = s->pipeline->pieces;
    struct mtlm_record r = {
        .rank = k,
        .lane = MTLM_LANE_COMPUTE,
        .phase = (int) MTLM_PHASE_FORWARD + class,
        .op = op[class],
        .microbatch = i,
        .stage = k,
        .peer = -1,
        .flops = 1e6,
    };

    for (int piece = 0; piece < pieces; piece++) {
        const double start = t + (double) piece / pieces;

        r.layer = k * pieces + piece;
        r.ready_ns = (piece ? start : ready_at) * s->pipeline->unit_ns;
        add(s, r, start, start + 1. / pieces);
    }
}

/* Stage k sends what is made at t; the receive was posted at once. */
static void add_transfer(struct simulation *s, int phase, int k, int peer,
                         int i, int t, int begin)
{
    struct mtlm_record r = {.rank = k,
                            .worker = -1,
                            .lane = MTLM_LANE_PP,
                            .phase = phase,
                            .op = MTLM_OP_SEND,
                            .microbatch = i,
                            .stage = k,
                            .layer = -1,
                            .peer = peer};

    r.ready_ns = (int64_t) t * s->pipeline->unit_ns;
    add(s, r, t, t);
    r.rank = r.stage = peer;
    r.peer = k;
    r.op = MTLM_OP_RECV;
    r.ready_ns = (int64_t) begin * s->pipeline->unit_ns;
    add(s, r, begin, t);
}

static double ready_time(struct simulation *s, int class, int k, int i)
{
    const int p = s->pipeline->stages;

    if (class == F)
        return k ? *end_of(s, F, k - 1, i) : 0;
    if (class == B)
        return k < p - 1 ? *end_of(s, s->pipeline->fused ? W : B, k + 1, i)
                         : *end_of(s, F, k, i);
    return *end_of(s, B, k, i);
}

/* Starts the best ready task of stage k at t. */
static bool step(struct simulation *s, int k, int t, int begin)
{
    static const int order[2][CLASSES] = {{F, B, W}, {W, F, B}};
    const struct pipeline *p = s->pipeline;

    for (int c = 0; c < CLASSES; c++) {
        const int class = order[p->fused][c];

        for (int i = 0; i < p->microbatches; i++) {
            if (!ready(s, class, k, i, t))
                continue;
            add_task(s, class, k, i, t, ready_time(s, class, k, i));
            *end_of(s, class, k, i) = t + 1;
            if (class == F && k < p->stages - 1)
                add_transfer(s, MTLM_PHASE_FORWARD, k, k + 1, i, t + 1, begin);
            if (class == (p->fused ? W : B) && k)
                add_transfer(s, MTLM_PHASE_BACKWARD, k, k - 1, i, t + 1, begin);
            return true;
        }
    }
    return false;
}

static int add_optimizer(struct simulation *s, int t)
{
    for (int k = 0; k < s->pipeline->stages; k++) {
        struct mtlm_record r = {.rank = k,
                                .worker = -1,
                                .lane = MTLM_LANE_DP,
                                .phase = MTLM_PHASE_OPTIMIZER,
                                .op = MTLM_OP_ALL_REDUCE,
                                .microbatch = -1,
                                .stage = k,
                                .layer = -1,
                                .peer = -1};

        r.ready_ns = (int64_t) t * s->pipeline->unit_ns;
        add(s, r, t, t + 1);
        r.worker = 0;
        r.lane = MTLM_LANE_COMPUTE;
        r.op = MTLM_OP_ADAM;
        r.ready_ns = (int64_t) (t + 1) * s->pipeline->unit_ns;
        add(s, r, t + 1, t + 2);
    }
    return t + 2;
}

struct mtlm_record *pipeline_records(const struct pipeline *pipeline, size_t *n)
{
    struct simulation s = {.pipeline = pipeline};
    const int tasks = CLASSES * pipeline->stages * pipeline->microbatches;
    int t = 0;

    assert(pipeline->unit_ns % pipeline->pieces == 0);
    s.end = mtlm_calloc(tasks, sizeof(*s.end));
    for (; s.iteration < pipeline->iterations; s.iteration++) {
        const int begin = t;
        int left = tasks;

        for (int i = 0; i < tasks; i++)
            s.end[i] = -1;
        for (; left; t++)
            for (int k = 0; k < pipeline->stages; k++)
                left -= step(&s, k, t, begin);
        if (pipeline->iterations > 1)
            t = add_optimizer(&s, t);
    }
    free(s.end);
    *n = s.n;
    return s.record;
}

struct mtlm_trace_summary *pipeline_summary(int stages, int microbatches,
                                            int iterations, bool fused)
{
    const struct pipeline pipeline = {.stages = stages,
                                      .microbatches = microbatches,
                                      .iterations = iterations,
                                      .fused = fused,
                                      .pieces = 4,
                                      .unit_ns = PIPELINE_UNIT_NS};
    const struct mtlm_trace_info info = {.ranks = stages,
                                         .stages = stages,
                                         .virtual_stages = 1,
                                         .microbatches = microbatches};
    struct mtlm_trace_summary *summary;
    size_t n;
    struct mtlm_record *record = pipeline_records(&pipeline, &n);

    summary = mtlm_trace_summarize(record, n, &info);
    free(record);
    return summary;
}
