#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/pool.h"
#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/predict/search.h"
#include "runtime/base/memory.h"

/* Of a schedule: values of alpha that are tried, fewer where a pipeline has
 * many tasks, and microbatches for each rank then; and what two stages a rank
 * must gain. */
enum { TRIES = 32, FEW_TRIES = 10, MANY_TASKS = 8192, ENOUGH = 4, PIECES = 8 };
static const double worth = 0.99;

double mtlm_search(const struct mtlm_search *search, struct mtlm_window *window,
                   double *alpha)
{
    const struct mtlm_evaluate *p = &search->pipeline;
    const int stages = mtlm_layout_stages(p->layout);
    struct mtlm_window *tried = mtlm_calloc(2 * stages, sizeof(*tried));
    struct mtlm_window *last = tried + stages;
    struct mtlm_window_model model = search->windows;
    const double most = mtlm_windows(&model, tried);
    /* Below 1 a stage cannot be kept busy. */
    const double least = fmin(most, fmax(1, most / 2));
    double best = INFINITY;

    if (mtlm_windows_least_memory(&model) > model.most_memory * (1 + 1e-9)) {
        free(tried);
        return INFINITY;
    }
    for (int i = 0; i < search->tries; i++) {
        struct mtlm_evaluate one = *p;
        struct mtlm_evaluation e;
        double cost;

        model.alpha = most - (most - least) * i / search->tries;
        mtlm_windows(&model, tried);
        if (memcmp(tried, last, stages * sizeof(*tried)) == 0)
            continue;
        memcpy(last, tried, stages * sizeof(*tried));
        one.window = tried;
        e = mtlm_evaluate(&one);
        cost = search->by_span ? e.span_s : e.makespan_s;
        mtlm_evaluation_free(&e);
        if (cost < best * (1 - 1e-9)) {
            best = cost;
            *alpha = model.alpha;
            memcpy(window, tried, stages * sizeof(*tried));
        }
    }
    free(tried);
    return best;
}

/* ---- programs ---- */

/* Of the list's nodes that go with that phase: with recomputation some weight
 * gradients cannot wait. */
static double flops_of(const struct mtlm_list *list, enum mtlm_phase phase)
{
    double flops = 0;

    for (int i = 0; i < list->n; i++)
        if (mtlm_pool_phase(list->node[i]) == phase)
            flops += list->node[i]->flops;
    return flops;
}

/* So that forward passes take a millisecond a rank, or a stage where one rank
 * holds all, on average; returns the FLOPs of a second. */
static double scale(double *times, int stages, int ranks)
{
    double forward = 0;

    for (int k = 0; k < stages; k++)
        forward += times[k];
    for (int i = 0; i < 3 * stages; i++)
        times[i] *= 1e-3 * ranks / forward;
    return forward / (1e-3 * ranks);
}

struct mtlm_work mtlm_work_create(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(4 * stages, sizeof(*times));
    struct mtlm_work work = {.window = mtlm_ring_windows(config),
                             .times = times};
    int64_t pieces = 1;

    for (int r = 0; r < config->layout.pp; r++) {
        struct mtlm_program_config mine = *config;
        struct mtlm_program *program;

        mine.outline = true;
        mine.eval_only = false;
        mtlm_layout_place(&mine.layout,
                          r * config->layout.tp * config->layout.dp);
        program = mtlm_program_build(&mine);
        for (int c = 0; c < config->layout.virtual_stages; c++) {
            const struct mtlm_stage *stage = &program->stage[c];
            double *time = &times[stage->stage];

            time[0] = flops_of(&stage->forward, MTLM_PHASE_FORWARD);
            time[stages] = flops_of(&stage->backward, MTLM_PHASE_BACKWARD);
            time[2 * stages] = flops_of(&stage->weight, MTLM_PHASE_WEIGHT)
                               + flops_of(&stage->backward, MTLM_PHASE_WEIGHT);
            time[3 * stages] = stage->n_layers;
            pieces = stage->n_layers > pieces ? stage->n_layers : pieces;
        }
        mtlm_program_destroy(program);
    }
    work.flops_per_s =
        scale(times, stages, mtlm_layout_pipeline(&config->layout));
    work.pipeline =
        (struct mtlm_evaluate){.layout = &config->layout,
                               .pipeline = config->pipeline,
                               .microbatches = config->microbatches,
                               .forward = times,
                               .backward = times + stages,
                               .weight = times + 2 * stages,
                               .memory = times + 3 * stages,
                               .pieces = pieces < PIECES ? pieces : PIECES,
                               .weight_share = 1,
                               .window = work.window};
    return work;
}

void mtlm_work_free(struct mtlm_work *work)
{
    free(work->times);
    free(work->window);
}

/* ---- schedules ---- */

/* What config costs with the best windows in bytes; it gets their alpha. */
static double try_windows(struct mtlm_program_config *config, double bytes)
{
    const int stages = mtlm_layout_stages(&config->layout);
    struct mtlm_window *window = mtlm_calloc(stages, sizeof(*window));
    double *times = mtlm_calloc(4 * stages, sizeof(*times)), cost;
    struct mtlm_work work;
    struct mtlm_search search;

    config->pipeline = MTLM_PIPELINE_WINDOW;
    config->window = 1;
    config->act_mem = 0; /* the work does not depend on windows */
    work = mtlm_work_create(config);
    config->window = 0;
    config->act_mem = bytes;
    search = (struct mtlm_search){
        .pipeline = work.pipeline,
        .windows = mtlm_ring_model(config, times, times + 3 * stages),
        .tries = TRIES};
    if (stages * config->microbatches > MANY_TASKS) {
        search.tries = FEW_TRIES;
        search.pipeline.pieces = 1;
        search.pipeline.microbatches =
            fmin(config->microbatches,
                 ENOUGH * mtlm_layout_pipeline(&config->layout));
    }
    cost = mtlm_search(&search, window, &config->window);
    mtlm_work_free(&work);
    free(times);
    free(window);
    return cost;
}

/* Bytes of what 1F1B keeps on the fullest rank. */
static double bytes_of_1f1b(const struct mtlm_program_config *config)
{
    const bool together = config->layout.placement == MTLM_PLACEMENT_POLICY;
    const int stages = mtlm_layout_pipeline(&config->layout);
    struct mtlm_program_config one = *config;
    struct mtlm_window *window;
    double *memory = mtlm_calloc(stages, sizeof(*memory));
    double most = 0;

    if (!together) {
        one.layout.virtual_stages = 1;
        one.layout.placement = MTLM_PLACEMENT_LOOP;
        one.layout.stage_layers = NULL;
    }
    one.pipeline = MTLM_PIPELINE_1F1B;
    window = mtlm_ring_windows(&one);
    mtlm_ring_memory(&one, memory);
    for (int k = 0; k < stages; k++) {
        const double here = window[k].w * memory[k];

        most = together ? most + here : fmax(most, here);
    }
    free(memory);
    free(window);
    return most;
}

void mtlm_search_schedule(struct mtlm_program_config *config, int chunks)
{
    static const struct {
        int chunks;
        enum mtlm_placement placement;
    } kinds[] = {{1, MTLM_PLACEMENT_LOOP},
                 {2, MTLM_PLACEMENT_V},
                 {2, MTLM_PLACEMENT_LOOP}};
    const double bytes =
        config->act_mem > 0 ? config->act_mem : bytes_of_1f1b(config);
    struct mtlm_program_config best = *config;
    double least = INFINITY;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct mtlm_program_config one = *config;
        double cost;

        if (chunks == 0) {
            one.layout.virtual_stages = kinds[i].chunks;
            one.layout.placement = kinds[i].placement;
            if (kinds[i].chunks > 1
                && (config->layout.pp == 1
                    || mtlm_layout_stages(&one.layout)
                           > config->model.num_layers))
                continue;
        }
        cost = try_windows(&one, bytes);
        if (cost < least
                       * (one.layout.virtual_stages > best.layout.virtual_stages
                              ? worth
                              : 1)
            || i == 0) {
            least = cost;
            best = one;
        }
        if (chunks > 0)
            break;
    }
    *config = best;
}
