/* Search for windows, virtual stages and placement. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/ring.h"
#include "graph/order/rounding.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/search.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "graph/schedule/schedule.h"
#include "runtime/base/memory.h"

/* Values of alpha that are tried.  A pipeline of many tasks gets few tries; one
 * of many passes, on ENOUGH microbatches for each rank. */
enum { TRIES = 32, FEW_TRIES = 10, MANY_TASKS = 8192, ENOUGH = 4 };

/* Slots of gradients that are tried for each pipeline rank, at the most. */
enum { MOST_MORE = 2 };

/* Two stages a rank must cost at most this share of what one stage costs, where
 * no time of a message is known. */
static const double worth = 0.99;

/* Several stages on a rank have a few small tensors more than one stage. */
static const double slack = 1.001;

double mtlm_search(const struct mtlm_search *search, struct mtlm_window *window,
                   double *alpha)
{
    const struct mtlm_evaluate *p = &search->pipeline;
    const int stages = mtlm_layout_stages(p->layout);
    struct mtlm_window *tried = mtlm_calloc(2 * stages, sizeof(*tried));
    struct mtlm_window *last = tried + stages;
    struct mtlm_window_model model = search->windows;
    const double most = mtlm_schedule_windows(p->schedule, &model, tried);
    /* Below 1 a stage cannot be kept busy. */
    const double least = fmin(most, fmax(1, most / 2));
    double best = INFINITY;

    if (mtlm_window_least_memory(&model)
        > model.most_memory * (1 + MTLM_MEMORY_ROUNDING)) {
        free(tried);
        return INFINITY;
    }
    for (int i = 0; i <= search->tries; i++) {
        struct mtlm_evaluate one = *p;
        struct mtlm_evaluation e;
        double cost;

        model.alpha = i < search->tries
                          ? most - (most - least) * i / search->tries
                          : fmin(MTLM_ALPHA_1F1B, least);
        mtlm_schedule_windows(p->schedule, &model, tried);
        if (memcmp(tried, last, stages * sizeof(*tried)) == 0)
            continue;
        memcpy(last, tried, stages * sizeof(*tried));
        one.window = tried;
        e = mtlm_evaluate(&one);
        cost = search->by_span ? e.span_s : e.makespan_s;
        mtlm_evaluation_free(&e);
        if (cost < best * (1 - MTLM_SECONDS_ROUNDING)) {
            best = cost;
            *alpha = model.alpha;
            memcpy(window, tried, stages * sizeof(*tried));
        }
    }
    free(tried);
    return best;
}

/* Leaves fewer tasks of a pipeline of many passes.  Returns whether it has many
 * tasks. */
static bool shorten(struct mtlm_evaluate *pipeline)
{
    const struct mtlm_layout *layout = pipeline->layout;
    const int m = pipeline->microbatches;
    const int64_t passes = (int64_t) mtlm_layout_stages(layout) * m;

    if (passes <= MANY_TASKS)
        return passes * pipeline->pieces >= MANY_TASKS;
    pipeline->pieces = pipeline->steps = 1;
    pipeline->microbatches = fmin(m, ENOUGH * mtlm_layout_pipeline(layout));
    return true;
}

/* Returns the cost of config with the best windows in `bytes`; sets config's
 * alpha and act_mem.  With times, slots of gradients may be more. */
static double try_windows(struct mtlm_program_config *config, double bytes)
{
    const int stages = mtlm_layout_stages(&config->layout);
    struct mtlm_window *window = mtlm_calloc(stages, sizeof(*window));
    double *times = mtlm_calloc(4 * stages, sizeof(*times));
    double cost, more_cost, alpha = 0;
    struct mtlm_work work;
    struct mtlm_search search;

    config->window = 1;
    config->act_mem = 0; /* the work does not depend on windows */
    work = mtlm_work_create(config);
    config->window = 0;
    config->act_mem = bytes;
    config->activation = mtlm_activation_memory(config);
    search = (struct mtlm_search){
        .pipeline = work.pipeline,
        .windows = mtlm_ring_model(config, times, times + 3 * stages),
        .tries = TRIES};
    if (shorten(&search.pipeline))
        search.tries = FEW_TRIES;
    cost = mtlm_search(&search, window, &config->window);
    search.windows.more_gradients = MOST_MORE * config->layout.pp;
    more_cost = config->times ? mtlm_search(&search, window, &alpha) : INFINITY;
    if (more_cost < cost * (1 - MTLM_SECONDS_ROUNDING)) {
        cost = more_cost;
        config->window = alpha;
    }
    mtlm_work_free(&work);
    mtlm_activation_memory_free(&config->activation);
    free(times);
    free(window);
    return cost;
}

/* Returns the layers of each rank [pp], as one stage has them; NULL: the layers
 * split evenly.  The caller frees them. */
static int64_t *layers_of_ranks(const struct mtlm_program_config *config)
{
    const struct mtlm_layout *layout = &config->layout;
    int64_t *layers;

    if (!layout->stage_layers)
        return NULL;
    layers = mtlm_calloc(layout->pp, sizeof(*layers));
    for (int k = 0; k < mtlm_layout_stages(layout); k++)
        layers[mtlm_layout_pp_rank(layout, k)] += layout->stage_layers[k];
    return layers;
}

/* Returns the bytes that the schedule to compare with keeps on the fullest
 * rank. */
static double bytes_to_use(const struct mtlm_program_config *config)
{
    int64_t *layers = layers_of_ranks(config);
    const bool together = config->layout.placement == MTLM_PLACEMENT_POLICY;
    const int stages = mtlm_layout_pipeline(&config->layout);
    struct mtlm_program_config one = *config;
    struct mtlm_window *window;
    struct mtlm_activation_memory memory;
    double most = 0;

    if (!together) {
        one.layout.virtual_stages = 1;
        one.layout.placement = MTLM_PLACEMENT_LOOP;
        one.layout.stage_layers = layers;
    }
    one.schedule = mtlm_schedule_find(config->schedule->memory_of);
    window = mtlm_ring_windows(&one);
    memory = mtlm_activation_memory(&one);
    for (int k = 0; k < stages; k++) {
        const double here = window[k].w * memory.stage[k];

        most = together ? most + here : fmax(most, here);
    }
    mtlm_activation_memory_free(&memory);
    free(window);
    free(layers);
    return most;
}

/* Returns the cost of config with the best windows in `bytes`, by the times of
 * the machine if it has a cluster. */
static double try_kind(struct mtlm_program_config *config, double bytes,
                       const struct mtlm_stage_cost *machine)
{
    const struct mtlm_stage_times *given = config->times;
    struct mtlm_stage_times times;
    double cost;

    mtlm_stage_cost_take(machine, config, &times);
    cost = try_windows(config, bytes);
    config->times = given;
    mtlm_stage_times_free(&times);
    return cost;
}

void mtlm_search_schedule(struct mtlm_program_config *config, unsigned kinds,
                          const struct mtlm_stage_cost *machine)
{
    const double share = machine->cluster || config->times ? 1 : worth;
    const double bytes =
        config->act_mem > 0 ? config->act_mem : slack * bytes_to_use(config);
    struct mtlm_program_config best = *config;
    double least = INFINITY;

    if (kinds == MTLM_KINDS_GIVEN) {
        try_kind(config, bytes, machine);
        return;
    }
    for (int i = 0; i < MTLM_STAGE_KINDS; i++) {
        struct mtlm_program_config one;
        double cost;
        bool more;

        if (!(kinds >> i & 1)
            || !mtlm_stage_kind_place(config, &mtlm_stage_kinds[i], &one))
            continue;
        cost = try_kind(&one, bytes, machine);
        more = one.layout.virtual_stages > best.layout.virtual_stages;
        if (cost < least * (more ? share : 1) || least == INFINITY) {
            least = cost;
            best = one;
        }
    }
    *config = best;
}

double mtlm_search_alpha(double alpha)
{
    return floor(alpha * 1e4) / 1e4;
}

static double evaluate_windows(const struct mtlm_program_config *config)
{
    struct mtlm_work work = mtlm_work_create(config);
    double seconds;

    shorten(&work.pipeline);
    seconds = mtlm_evaluate_seconds(&work.pipeline);
    mtlm_work_free(&work);
    return seconds;
}

void mtlm_search_gradients(struct mtlm_program_config *config)
{
    struct mtlm_program_config one = *config;
    double least;

    one.more_gradients = config->more_gradients = 0;
    mtlm_activation_memory_measure(&one);
    least = evaluate_windows(&one);
    for (int more = 1; more <= MOST_MORE * config->layout.pp; more *= 2) {
        double cost;

        one.more_gradients = more;
        cost = evaluate_windows(&one);
        if (cost < least * (1 - MTLM_SECONDS_ROUNDING)) {
            least = cost;
            config->more_gradients = more;
        }
    }
    mtlm_activation_memory_free(&one.activation);
}
