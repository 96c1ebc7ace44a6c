#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/predict/bank.h"
#include "graph/predict/evaluate.h"
#include "graph/predict/simulator.h"
#include "graph/schedule/priority.h"
#include "runtime/base/memory.h"

enum { FORWARD, BACKWARD, WEIGHT, KINDS };

/* What a task of the simulation is. */
struct task {
    int kind, stage, microbatch;
};

struct pipeline {
    const struct mtlm_evaluate *config;
    int stages, m;
    struct mtlm_simulator *sim;
    struct task *task; /* [n] */
    int n, capacity;
    int *first[KINDS]; /* [stage][microbatch] task, of W the first piece */
    /* While it runs: */
    struct mtlm_bank *bank; /* [pp] */
    int *live, *kept;       /* [stages] until B ends, until W ends */
    int *pieces_left;       /* [stage][microbatch] */
    struct mtlm_window *peak;
};

static int rank_of(const struct pipeline *p, int stage)
{
    return mtlm_layout_pp_rank(p->config->layout, stage);
}

static int *at(const struct pipeline *p, int kind, int stage, int microbatch)
{
    return &p->first[kind][stage * p->m + microbatch];
}

/* ---- tasks ---- */

static int64_t ns(double seconds)
{
    return llround(1e9 * seconds);
}

static int add(struct pipeline *p, int kind, int k, int i, int64_t duration)
{
    static const enum mtlm_phase phase[] = {
        MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT};
    const struct mtlm_layout *layout = p->config->layout;
    const struct mtlm_priority priority = {.chunks = layout->virtual_stages,
                                           .microbatches = p->m,
                                           .pipeline = p->config->pipeline,
                                           .stages = layout->pp,
                                           .backward_first =
                                               p->config->backward_first};

    if (p->n == p->capacity) {
        p->capacity = 2 * p->capacity + 256;
        p->task = mtlm_realloc(p->task, p->capacity, sizeof(*p->task));
    }
    p->task[p->n++] = (struct task){kind, k, i};
    return mtlm_simulator_task(
        p->sim, rank_of(p, k), duration,
        mtlm_priority(&priority, phase[kind], i, mtlm_layout_chunk(layout, k)));
}

static void add_weight(struct pipeline *p, int k, int i)
{
    const int n = p->config->pieces;
    const int64_t all = ns(p->config->weight[k]);

    for (int j = 0; j < n; j++) {
        const int task = add(p, WEIGHT, k, i, all * (j + 1) / n - all * j / n);

        if (j == 0)
            *at(p, WEIGHT, k, i) = task;
    }
}

/* In program order, which decides among equals. */
static void add_tasks(struct pipeline *p)
{
    for (int i = 0; i < p->m; i++) {
        for (int k = 0; k < p->stages; k++)
            *at(p, FORWARD, k, i) =
                add(p, FORWARD, k, i, ns(p->config->forward[k]));
        for (int k = p->stages - 1; k >= 0; k--) {
            *at(p, BACKWARD, k, i) =
                add(p, BACKWARD, k, i, ns(p->config->backward[k]));
            add_weight(p, k, i);
        }
    }
}

/* ---- edges ---- */

static int64_t hop(const struct pipeline *p, int a, int b)
{
    return rank_of(p, a) != rank_of(p, b) ? ns(p->config->hop) : 0;
}

/* From a task, of W all pieces, if there is such a microbatch. */
static void edge(struct pipeline *p, int kind, int k, int i, int after,
                 int64_t delay)
{
    if (i < 0)
        return;
    for (int j = 0; j < (kind == WEIGHT ? p->config->pieces : 1); j++)
        mtlm_simulator_edge(p->sim, *at(p, kind, k, i) + j, after, delay);
}

static void connect_data(struct pipeline *p, int k, int i)
{
    const int f = *at(p, FORWARD, k, i), b = *at(p, BACKWARD, k, i);
    const int w = *at(p, WEIGHT, k, i);
    const bool fused = mtlm_pipeline_fused(p->config->pipeline);

    if (k > 0)
        edge(p, FORWARD, k - 1, i, f, hop(p, k - 1, k));
    edge(p, FORWARD, k, i, b, 0);
    if (k + 1 < p->stages) {
        edge(p, BACKWARD, k + 1, i, b, hop(p, k + 1, k));
        if (fused && rank_of(p, k) != rank_of(p, k + 1))
            edge(p, WEIGHT, k + 1, i, b, hop(p, k + 1, k));
    }
    for (int j = 0; j < p->config->pieces; j++) {
        edge(p, BACKWARD, k, i, w + j, 0);
        if (i > 0)
            mtlm_simulator_edge(p->sim, *at(p, WEIGHT, k, i - 1) + j, w + j, 0);
    }
}

/* A slot is free when its last user has ended. */
static void connect_rings(struct pipeline *p, int k, int i)
{
    const struct mtlm_window *window = &p->config->window[k];
    const int f = *at(p, FORWARD, k, i);

    edge(p, BACKWARD, k, i - window->w, f, 0);
    edge(p, WEIGHT, k, i - window->w - window->q, f, 0);
    edge(p, WEIGHT, k, i - window->g, *at(p, BACKWARD, k, i), 0);
}

/* ---- memory ---- */

static void task_started(void *arg, int number)
{
    struct pipeline *p = arg;
    const struct task *t = &p->task[number];
    const int k = t->stage;
    struct mtlm_bank *bank = &p->bank[rank_of(p, k)];

    if (t->kind != FORWARD)
        return;
    mtlm_bank_take(bank, t->microbatch, p->config->memory[k]);
    p->live[k]++;
    p->kept[k]++;
    p->peak[k].w = p->live[k] > p->peak[k].w ? p->live[k] : p->peak[k].w;
    p->peak[k].q = p->kept[k] > p->peak[k].q ? p->kept[k] : p->peak[k].q;
}

static void task_ended(void *arg, int number)
{
    struct pipeline *p = arg;
    const struct task *t = &p->task[number];
    const int k = t->stage;
    const double share = p->config->weight_share;
    struct mtlm_bank *bank = &p->bank[rank_of(p, k)];

    if (t->kind == BACKWARD) {
        mtlm_bank_give(bank, t->microbatch, (1 - share) * p->config->memory[k]);
        p->live[k]--;
    }
    if (t->kind == WEIGHT && --p->pieces_left[k * p->m + t->microbatch] == 0) {
        mtlm_bank_give(bank, t->microbatch, share * p->config->memory[k]);
        p->kept[k]--;
    }
}

static bool admits(void *arg, int number)
{
    const struct pipeline *p = arg;
    const struct task *t = &p->task[number];
    const int r = rank_of(p, t->stage);

    return t->kind != FORWARD
           || mtlm_bank_admits(&p->bank[r], t->microbatch,
                               p->config->memory[t->stage], p->config->cap[r]);
}

/* ---- bounds ---- */

/* Seconds from the start of B until its result can be sent: behind the pieces
 * of W, which the workers share. */
static double chain(const struct mtlm_evaluate *c, int k)
{
    const int n = c->layout->workers, rounds = (c->pieces + n - 1) / n;

    return c->backward[k]
           + (mtlm_pipeline_fused(c->pipeline)
                  ? c->weight[k] * rounds / c->pieces
                  : 0);
}

/* Sets the shortest times before a rank's first task and behind its last one,
 * head and tail [pp], which follow from the data alone; returns the longest
 * path. */
static double paths(const struct pipeline *p, double *head, double *tail)
{
    const struct mtlm_evaluate *c = p->config;
    const bool fused = mtlm_pipeline_fused(c->pipeline);
    double before = 0, behind = 0, longest = 0;

    for (int r = 0; r < c->layout->pp; r++)
        head[r] = tail[r] = INFINITY;
    for (int k = 0; k < p->stages; k++) {
        const int r = rank_of(p, k);
        const double to_next = k + 1 < p->stages ? 1e-9 * hop(p, k, k + 1) : 0;

        /* Split, a rank ends with a W, which nothing waits for. */
        head[r] = fmin(head[r], before);
        tail[r] = fmin(tail[r], fused ? behind : 0);
        before += c->forward[k] + to_next;
        behind += chain(c, k) + to_next;
    }
    /* From the last stage's F down to stage k's W. */
    for (int k = p->stages - 1; k >= 0; k--) {
        before += chain(c, k);
        longest =
            fmax(longest, before + (fused ? 0 : c->weight[k] / c->pieces));
        if (k > 0)
            before += 1e-9 * hop(p, k - 1, k);
    }
    return longest;
}

/* Seconds of work of a rank, per worker. */
static double work(const struct pipeline *p, int r)
{
    const struct mtlm_evaluate *c = p->config;
    double work = 0;

    for (int k = 0; k < p->stages; k++)
        if (rank_of(p, k) == r)
            work += c->forward[k] + c->backward[k] + c->weight[k];
    return p->m * work / c->layout->workers;
}

static double least(const struct pipeline *p)
{
    const int pp = p->config->layout->pp;
    double *head = mtlm_calloc(pp, sizeof(*head));
    double *tail = mtlm_calloc(pp, sizeof(*tail));
    double least = paths(p, head, tail);

    for (int r = 0; r < pp; r++)
        least = fmax(least, head[r] + work(p, r) + tail[r]);
    free(head);
    free(tail);
    return least;
}

/* ---- the whole ---- */

static double microbatch_memory(const struct pipeline *p, int r)
{
    double memory = 0;

    for (int k = 0; k < p->stages; k++)
        memory += rank_of(p, k) == r ? p->config->memory[k] : 0;
    return memory;
}

static void prepare(struct pipeline *p)
{
    const struct mtlm_evaluate *c = p->config;
    const int each = p->stages * p->m;

    p->sim = mtlm_simulator_create();
    for (int r = 0; r < c->layout->pp; r++)
        mtlm_simulator_lane(p->sim, c->layout->workers);
    for (int kind = 0; kind < KINDS; kind++)
        p->first[kind] = mtlm_calloc(each, sizeof(int));
    p->live = mtlm_calloc(p->stages, sizeof(*p->live));
    p->kept = mtlm_calloc(p->stages, sizeof(*p->kept));
    p->pieces_left = mtlm_calloc(each, sizeof(*p->pieces_left));
    for (int i = 0; i < each; i++)
        p->pieces_left[i] = c->pieces;
    p->bank = mtlm_calloc(c->layout->pp, sizeof(*p->bank));
    for (int r = 0; r < c->layout->pp; r++)
        mtlm_bank_create(&p->bank[r], p->m, microbatch_memory(p, r));
    add_tasks(p);
    for (int k = 0; k < p->stages; k++)
        for (int i = 0; i < p->m; i++) {
            connect_data(p, k, i);
            if (!c->cap)
                connect_rings(p, k, i);
        }
    mtlm_simulator_set_rule(
        p->sim, &(struct mtlm_simulator_rule){.admits = c->cap ? admits : NULL,
                                              .started = task_started,
                                              .ended = task_ended,
                                              .arg = p});
}

static void finish(struct pipeline *p)
{
    for (int r = 0; r < p->config->layout->pp; r++)
        mtlm_bank_destroy(&p->bank[r]);
    for (int kind = 0; kind < KINDS; kind++)
        free(p->first[kind]);
    free(p->bank);
    free(p->live);
    free(p->kept);
    free(p->pieces_left);
    free(p->task);
    mtlm_simulator_destroy(p->sim);
}

static void note_tasks(const struct pipeline *p, struct mtlm_evaluation *e)
{
    static const enum mtlm_phase phase[] = {
        MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT};
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
                                         phase[t->kind],
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

struct mtlm_evaluation mtlm_evaluate(const struct mtlm_evaluate *config)
{
    struct pipeline p = {.config = config,
                         .stages = mtlm_layout_stages(config->layout),
                         .m = config->microbatches};
    struct mtlm_evaluation e = {
        .peak = mtlm_calloc(p.stages, sizeof(*e.peak)),
        .rank_memory = mtlm_calloc(config->layout->pp, sizeof(double))};
    double busiest = 0;
    bool all;

    p.peak = e.peak;
    prepare(&p);
    all = mtlm_simulator_run(p.sim);
    assert(all);
    (void) all;
    note_tasks(&p, &e);
    e.makespan_s = 1e-9 * mtlm_simulator_makespan(p.sim);
    e.least_s = least(&p);
    for (int r = 0; r < config->layout->pp; r++) {
        busiest = fmax(busiest, work(&p, r));
        e.rank_memory[r] = p.bank[r].peak;
        e.peak_memory = fmax(e.peak_memory, p.bank[r].peak);
    }
    e.bubble = 1 - busiest / e.makespan_s;
    for (int k = 0; k < p.stages; k++)
        e.peak[k].q -= e.peak[k].w;
    finish(&p);
    return e;
}

void mtlm_evaluation_free(struct mtlm_evaluation *evaluation)
{
    free(evaluation->peak);
    free(evaluation->rank_memory);
    free(evaluation->task);
}
