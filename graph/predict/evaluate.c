/* Evaluation of a pipeline: tasks and edges for the simulator, lower bounds. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/order/order_slots.h"
#include "graph/order/walk.h"
#include "graph/predict/bound.h"
#include "graph/predict/evaluate.h"
#include "graph/predict/late.h"
#include "graph/predict/simulator.h"
#include "graph/schedule/order_place.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

enum { FORWARD, BACKWARD, WEIGHT, KINDS };

static const enum mtlm_phase phase_of[KINDS] = {
    MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT};

struct task {
    int kind, stage, microbatch;
};

struct pipeline {
    const struct mtlm_evaluate *config;
    int stages, m;
    struct mtlm_simulator *sim;
    struct task *task; /* [n] */
    int n;
    size_t capacity;
    int *first[KINDS]; /* [stage][microbatch] the task; of W, the first one */
    int **place;       /* [pp] for struct mtlm_priority; NULL: no order */
};

static int rank_of(const struct pipeline *p, int stage)
{
    return mtlm_layout_pp_rank(p->config->layout, stage);
}

static int *task_at(const struct pipeline *p, int kind, int stage,
                    int microbatch)
{
    return &p->first[kind][stage * p->m + microbatch];
}

/* ---- tasks ---- */

static int add_task(struct pipeline *p, int kind, int k, int i,
                    int64_t duration)
{
    const struct mtlm_layout *layout = p->config->layout;
    struct mtlm_priority priority =
        mtlm_schedule_priority(p->config->schedule, layout, p->m);
    int task;

    if (p->place)
        priority.place = p->place[rank_of(p, k)];
    p->task = mtlm_make_room(p->task, &p->capacity, p->n + 1, sizeof(*p->task));
    p->task[p->n++] = (struct task){kind, k, i};
    task = mtlm_simulator_task(p->sim, rank_of(p, k), duration,
                               mtlm_priority(&priority, phase_of[kind], i,
                                             mtlm_layout_chunk(layout, k)));
    if (kind == BACKWARD && !p->place)
        mtlm_simulator_keep(p->sim, task);
    return task;
}

/* Returns the number of tasks of a pass. */
static int tasks_of(const struct pipeline *p, int kind)
{
    if (kind == WEIGHT)
        return p->config->pieces;
    return p->config->steps > 0 ? p->config->steps : 1;
}

static void add_pass(struct pipeline *p, int kind, int k, int i, double seconds)
{
    const int n = tasks_of(p, kind);
    const int64_t all = mtlm_simulator_ns(
        seconds
        * mtlm_noise_factor(p->config->noise, p->config->layout, phase_of[kind],
                            k, i));

    for (int j = 0; j < n; j++) {
        const int task =
            add_task(p, kind, k, i, all * (j + 1) / n - all * j / n);

        if (j == 0)
            *task_at(p, kind, k, i) = task;
        else if (kind != WEIGHT)
            mtlm_simulator_edge(p->sim, task - 1, task, 0);
    }
}

/* In program order: the simulator breaks ties by it. */
static void add_tasks(struct pipeline *p)
{
    const struct mtlm_evaluate *c = p->config;

    for (int i = 0; i < p->m; i++) {
        for (int k = 0; k < p->stages; k++)
            add_pass(p, FORWARD, k, i, c->forward[k]);
        for (int k = p->stages - 1; k >= 0; k--) {
            add_pass(p, BACKWARD, k, i, c->backward[k]);
            add_pass(p, WEIGHT, k, i, c->weight[k]);
        }
    }
}

/* ---- edges ---- */

/* Returns the nanoseconds from microbatch i on stage a to stage b. */
static int64_t hop_ns(const struct pipeline *p, int a, int b, int i)
{
    if (mtlm_layout_same_rank(p->config->layout, a, b))
        return 0;
    return mtlm_simulator_ns(p->config->hop
                             + mtlm_late_share(a, b, i) * p->config->latency);
}

/* Adds an edge from the last task of a pass, from all pieces of a W.  i < 0:
 * adds none. */
static void add_edge(struct pipeline *p, int kind, int k, int i, int after,
                     int64_t delay)
{
    const int n = tasks_of(p, kind);

    if (i < 0)
        return;
    for (int j = kind == WEIGHT ? 0 : n - 1; j < n; j++)
        mtlm_simulator_edge(p->sim, *task_at(p, kind, k, i) + j, after, delay);
}

/* Workers wait for the first task of a pass on stage k, whose input comes from
 * stage a, if another rank has stage a. */
static void await_message(struct pipeline *p, int a, int k, int task)
{
    if (!mtlm_layout_same_rank(p->config->layout, a, k))
        mtlm_simulator_await(p->sim, task);
}

static void connect_data(struct pipeline *p, int k, int i)
{
    const int f = *task_at(p, FORWARD, k, i), b = *task_at(p, BACKWARD, k, i);
    const int w = *task_at(p, WEIGHT, k, i);
    const bool fused = p->config->schedule->fused;

    if (k > 0) {
        add_edge(p, FORWARD, k - 1, i, f, hop_ns(p, k - 1, k, i));
        await_message(p, k - 1, k, f);
    }
    add_edge(p, FORWARD, k, i, b, 0);
    if (k + 1 < p->stages) {
        await_message(p, k + 1, k, b);
        add_edge(p, BACKWARD, k + 1, i, b, hop_ns(p, k + 1, k, i));
        if (fused && !mtlm_layout_same_rank(p->config->layout, k, k + 1))
            add_edge(p, WEIGHT, k + 1, i, b, hop_ns(p, k + 1, k, i));
    }
    for (int j = 0; j < p->config->pieces; j++) {
        add_edge(p, BACKWARD, k, i, w + j, 0);
        if (i > 0)
            mtlm_simulator_edge(p->sim, *task_at(p, WEIGHT, k, i - 1) + j,
                                w + j, 0);
    }
}

/* The last user of a slot ends before the slot is used again. */
static void connect_rings(struct pipeline *p, int k, int i)
{
    const struct mtlm_window *window = &p->config->window[k];
    const int f = *task_at(p, FORWARD, k, i);

    add_edge(p, BACKWARD, k, i - window->w, f, 0);
    add_edge(p, WEIGHT, k, i - window->w - window->q, f, 0);
    add_edge(p, WEIGHT, k, i - window->g, *task_at(p, BACKWARD, k, i), 0);
}

static int kind_of(enum mtlm_phase phase)
{
    int kind = 0;

    while (phase_of[kind] != phase)
        kind++;
    return kind;
}

/* Adds the edges of the slots that the stages of a rank share.  Gradients take
 * turns with tensors that B reads last. */
static void connect_pools(struct pipeline *p)
{
    const struct mtlm_layout *layout = p->config->layout;
    struct mtlm_boxes boxes = mtlm_evaluate_boxes(p->config, NULL);
    struct mtlm_slot_edge *edge =
        mtlm_calloc((size_t) 2 * layout->virtual_stages * p->m, sizeof(*edge));

    boxes.pieces = 1;
    for (int r = 0; r < layout->pp; r++)
        for (int kind = 0; kind <= MTLM_SLOT_EXCHANGED; kind++) {
            int n;

            mtlm_order_slots_edges(p->config->order, &boxes, r, kind, edge, &n);
            for (int i = 0; i < n; i++) {
                const struct mtlm_box *last = &edge[i].last;
                const struct mtlm_box *next = &edge[i].next;

                add_edge(p, kind_of(last->phase), last->stage, last->microbatch,
                         *task_at(p, kind_of(next->phase), next->stage,
                                  next->microbatch),
                         0);
            }
        }
    free(edge);
}

/* ---- the whole ---- */

static void find_places(struct pipeline *p)
{
    const struct mtlm_evaluate *c = p->config;
    struct mtlm_boxes boxes = mtlm_evaluate_boxes(c, NULL);

    if (!c->order)
        return;
    boxes.pieces = 1;
    p->place = mtlm_calloc(c->layout->pp, sizeof(*p->place));
    for (int r = 0; r < c->layout->pp; r++)
        p->place[r] = mtlm_order_places(&boxes, c->order, r);
}

static void build_pipeline(struct pipeline *p)
{
    const struct mtlm_evaluate *c = p->config;
    const int each = p->stages * p->m;

    p->sim = mtlm_simulator_create();
    for (int r = 0; r < c->layout->pp; r++)
        mtlm_simulator_hold(
            p->sim, mtlm_simulator_lane(p->sim, c->layout->workers), c->hold);
    find_places(p);
    for (int kind = 0; kind < KINDS; kind++)
        p->first[kind] = mtlm_calloc(each, sizeof(int));
    add_tasks(p);
    for (int k = 0; k < p->stages; k++)
        for (int i = 0; i < p->m; i++) {
            connect_data(p, k, i);
            if (!c->pooled)
                connect_rings(p, k, i);
        }
    if (c->pooled)
        connect_pools(p);
}

static void free_pipeline(struct pipeline *p)
{
    for (int kind = 0; kind < KINDS; kind++)
        free(p->first[kind]);
    for (int r = 0; p->place && r < p->config->layout->pp; r++)
        free(p->place[r]);
    free(p->place);
    free(p->task);
    mtlm_simulator_destroy(p->sim);
}

static void note_tasks(const struct pipeline *p, struct mtlm_evaluation *e)
{
    const int pp = p->config->layout->pp;
    int64_t *begin = mtlm_calloc(pp, sizeof(*begin));
    int64_t *end = mtlm_calloc(pp, sizeof(*end));

    e->n_tasks = p->n;
    e->task = mtlm_calloc(p->n, sizeof(*e->task));
    for (int r = 0; r < pp; r++)
        begin[r] = -1;
    for (int i = 0; i < p->n; i++) {
        const int number = mtlm_simulator_started(p->sim, i);
        const struct task *t = &p->task[number];
        const int r = rank_of(p, t->stage);

        e->task[i] =
            (struct mtlm_evaluated_task){r,
                                         t->stage,
                                         t->microbatch,
                                         phase_of[t->kind],
                                         0,
                                         mtlm_simulator_start(p->sim, number),
                                         mtlm_simulator_end(p->sim, number)};
        if (begin[r] < 0)
            begin[r] = e->task[i].start_ns;
        if (e->task[i].end_ns > end[r])
            end[r] = e->task[i].end_ns;
        e->span_s = fmax(e->span_s, 1e-9 * (end[r] - begin[r]));
    }
    free(begin);
    free(end);
}

/* Sets everything but the tasks and their times. */
static void note_shares(const struct pipeline *p, struct mtlm_evaluation *e)
{
    const int pp = p->config->layout->pp;
    double work = 0; /* of all ranks */

    e->least_s = mtlm_bound_makespan(p->config);
    for (int r = 0; r < pp; r++) {
        const double seconds = mtlm_bound_rank_seconds(p->config, r);

        e->busiest_s = fmax(e->busiest_s, seconds);
        work += seconds;
    }
    /* Tasks take whole nanoseconds, so the work may exceed the makespan. */
    e->bubble = fmax(0, 1 - p->m * e->busiest_s / e->makespan_s);
    e->all_bubble = fmax(0, 1 - p->m * work / (pp * e->makespan_s));
}

static struct pipeline begin_pipeline(const struct mtlm_evaluate *config)
{
    return (struct pipeline){.config = config,
                             .stages = mtlm_layout_stages(config->layout),
                             .m = config->microbatches};
}

struct mtlm_evaluation mtlm_evaluate(const struct mtlm_evaluate *config)
{
    struct pipeline p = begin_pipeline(config);
    struct mtlm_evaluation e = {0};
    bool all;

    build_pipeline(&p);
    all = mtlm_simulator_run(p.sim);
    assert(all);
    (void) all;
    note_tasks(&p, &e);
    e.makespan_s = 1e-9 * mtlm_simulator_makespan(p.sim);
    note_shares(&p, &e);
    free_pipeline(&p);
    return e;
}

double mtlm_evaluate_seconds(const struct mtlm_evaluate *config)
{
    struct mtlm_evaluation e = mtlm_evaluate(config);

    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

/* ---- orders ---- */

static int by_start(const void *a, const void *b)
{
    const struct mtlm_evaluated_task *x = a, *y = b;
    const int c = mtlm_compare(x->start_ns, y->start_ns);

    return c ? c : x->rank - y->rank;
}

/* Takes tasks and times of a walk that ended. */
static void take_walk(const struct mtlm_walk *walk,
                      const struct mtlm_box_order *order,
                      struct mtlm_evaluation *e)
{
    const int pp = walk->boxes->layout->pp;
    double *begin = mtlm_calloc(pp, sizeof(*begin));
    double *end = mtlm_calloc(pp, sizeof(*end));

    e->n_tasks = walk->n;
    e->task = mtlm_calloc(walk->n, sizeof(*e->task));
    for (int r = 0; r < pp; r++)
        begin[r] = INFINITY;
    for (int i = 0; i < walk->n; i++) {
        const struct mtlm_box box = mtlm_box_at(walk->boxes, i);
        const int r = walk->rank[i];

        e->task[i] = (struct mtlm_evaluated_task){
            .rank = r,
            .stage = box.stage,
            .microbatch = box.microbatch,
            .phase = box.phase,
            .worker = mtlm_order_lane(order, i),
            .start_ns = mtlm_simulator_ns(walk->start[i]),
            .end_ns = mtlm_simulator_ns(walk->end[i])};
        begin[r] = fmin(begin[r], walk->start[i]);
        end[r] = fmax(end[r], walk->end[i]);
    }
    for (int r = 0; r < pp; r++)
        e->span_s = fmax(e->span_s, end[r] - begin[r]);
    qsort(e->task, e->n_tasks, sizeof(*e->task), by_start);
    free(begin);
    free(end);
}

/* Adds noise to the boxes, and latencies to the messages that they wait for. */
static void disturb_walk(const struct mtlm_evaluate *config,
                         struct mtlm_walk *walk)
{
    for (int i = 0; i < walk->n; i++) {
        const struct mtlm_box to = mtlm_box_at(walk->boxes, i);
        const int before = walk->before[i];
        struct mtlm_box from;

        walk->time[i] *= mtlm_noise_factor(config->noise, config->layout,
                                           to.phase, to.stage, to.microbatch);
        if (before < 0 || walk->rank[before] == walk->rank[i])
            continue;
        from = mtlm_box_at(walk->boxes, before);
        walk->hop[i] += mtlm_late_share(from.stage, to.stage, to.microbatch)
                        * config->latency;
    }
}

struct mtlm_evaluation mtlm_evaluate_order(const struct mtlm_evaluate *config,
                                           const struct mtlm_box_order *order)
{
    const struct pipeline p = begin_pipeline(config);
    /* Growth of memory is not read; any array does. */
    struct mtlm_boxes boxes = mtlm_evaluate_boxes(config, config->forward);
    struct mtlm_evaluation e = {0};
    struct mtlm_walk walk;

    boxes.pieces = 1;
    walk = mtlm_walk_create(&boxes);
    walk.apart = true;
    disturb_walk(config, &walk);
    e.makespan_s = mtlm_walk(&walk, order);
    assert(e.makespan_s < INFINITY);
    take_walk(&walk, order, &e);
    note_shares(&p, &e);
    mtlm_walk_free(&walk);
    return e;
}

struct mtlm_boxes mtlm_evaluate_boxes(const struct mtlm_evaluate *pipeline,
                                      const double *memory)
{
    return (struct mtlm_boxes){.layout = pipeline->layout,
                               .microbatches = pipeline->microbatches,
                               .pieces = pipeline->pieces,
                               .forward = pipeline->forward,
                               .backward = pipeline->backward,
                               .weight = pipeline->weight,
                               .hop = pipeline->hop,
                               .fused = pipeline->schedule->fused,
                               .memory = memory};
}

double mtlm_evaluate_shortest_forward(const struct mtlm_evaluate *pipeline)
{
    double least = INFINITY;

    for (int k = 0; k < mtlm_layout_stages(pipeline->layout); k++)
        least = fmin(least, pipeline->forward[k]);
    return least;
}

void mtlm_evaluation_free(struct mtlm_evaluation *evaluation)
{
    free(evaluation->task);
}
