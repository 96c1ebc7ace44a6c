#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/schedule/window.h"
#include "runtime/base/memory.h"

#define MIB (1024.0 * 1024)

/* ---- windows ---- */

/* Of one microbatch. */
struct bytes {
    double kept, waiting; /* from F on; until W */
};

/* Of a stage of so many layers: a middle one of three, so that there is
 * neither end of the model. */
static struct bytes bytes_of(const struct mtlm_program_config *config,
                             int64_t layers)
{
    const int64_t stage_layers[] = {layers, layers, layers};
    struct mtlm_program_config alone = *config;
    struct mtlm_program *program;
    struct bytes bytes = {0, 0};

    alone.model.num_layers = 3 * layers;
    alone.layout = (struct mtlm_layout){.tp = config->layout.tp,
                                        .pp = 3,
                                        .dp = 1,
                                        .virtual_stages = 1,
                                        .stage_layers = stage_layers,
                                        .pp_rank = 1,
                                        .workers = config->layout.workers};
    alone.pipeline = MTLM_PIPELINE_WINDOW;
    alone.window = 1;
    alone.act_mem = 0;
    alone.stage_windows = NULL;
    alone.distributed_optimizer = false;
    alone.eval_microbatches = 0;
    alone.eval_only = false;
    alone.outline = true;
    program = mtlm_program_build(&alone);
    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage != MTLM_STORE_ACTIVATION || !mtlm_tensor_is_owner(t)
            || t->first_use == t->last_use)
            continue;
        if (t->first_use == MTLM_PHASE_FORWARD)
            bytes.kept += mtlm_tensor_bytes(t);
        if (t->last_use == MTLM_PHASE_WEIGHT)
            bytes.waiting += mtlm_tensor_bytes(t);
    }
    mtlm_program_destroy(program);
    return bytes;
}

static int64_t layers_of(const struct mtlm_program_config *config, int stage)
{
    int64_t first, count;

    mtlm_layout_layers(&config->layout, config->model.num_layers, stage, &first,
                       &count);
    return count;
}

double mtlm_ring_memory(const struct mtlm_program_config *config,
                        double *memory)
{
    const int stages = mtlm_layout_stages(&config->layout);
    struct bytes bytes = {0, 0};
    double share = 0;

    for (int k = 0; k < stages; k++) {
        if (k == 0 || layers_of(config, k) != layers_of(config, k - 1))
            bytes = bytes_of(config, layers_of(config, k));
        memory[k] = bytes.kept;
        share = fmax(share, bytes.waiting / bytes.kept);
    }
    return share;
}

/* Layers of a stage that are called again as a whole: their B takes a forward
 * pass more, and W cannot wait, but goes with it. */
static double layers_again(const struct mtlm_program_config *config,
                           double layers)
{
    const struct mtlm_recompute *recompute = &config->recompute;

    /* Published schedules have windows of their own; one stage waits for
     * nobody. */
    if (config->pipeline != MTLM_PIPELINE_WINDOW
        || recompute->granularity != MTLM_RECOMPUTE_FULL
        || mtlm_layout_stages(&config->layout) == 1)
        return 0;
    if (recompute->method == MTLM_RECOMPUTE_UNIFORM)
        return layers;
    return fmin(layers, recompute->num_layers);
}

struct mtlm_window_model mtlm_ring_model(
    const struct mtlm_program_config *config, double *times, double *memory)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double share = 1;

    for (int k = 0; k < stages; k++) {
        const double layers = layers_of(config, k);
        const double again = layers_again(config, layers);

        memory[k] = times[k] = layers;
        times[stages + k] = layers + 2 * again;
        times[2 * stages + k] = layers - again;
    }
    if (config->act_mem > 0)
        share = mtlm_ring_memory(config, memory);
    return (struct mtlm_window_model){.layout = &config->layout,
                                      .pipeline = config->pipeline,
                                      .microbatches = config->microbatches,
                                      .forward = times,
                                      .backward = times + stages,
                                      .weight = times + 2 * stages,
                                      .memory = memory,
                                      .weight_share = share,
                                      .alpha = config->window,
                                      .most_memory = config->act_mem,
                                      .given = config->n_stage_windows == stages
                                                   ? config->stage_windows
                                                   : NULL};
}

struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(4 * stages, sizeof(*times));
    struct mtlm_window *window = mtlm_calloc(stages, sizeof(*window));
    const struct mtlm_window_model model =
        mtlm_ring_model(config, times, times + 3 * stages);

    mtlm_windows(&model, window);
    free(times);
    return window;
}

int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const int workers = config->layout.workers;
    double *times, need, with_alpha = 0;
    struct mtlm_window *window;
    struct mtlm_window_model model;

    if (config->act_mem <= 0)
        return 0;
    times = mtlm_calloc(4 * stages, sizeof(*times));
    window = mtlm_calloc(stages, sizeof(*window));
    model = mtlm_ring_model(config, times, times + 3 * stages);
    need = mtlm_windows_least_memory(&model);
    if (config->window > 0) {
        mtlm_windows(&model, window);
        with_alpha = mtlm_windows_memory(&model, window);
    }
    free(window);
    free(times);
    if (need > config->act_mem)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "--act-mem is %.4g MiB, and the activations of %s on each stage of "
            "a rank take %.4g MiB",
            config->act_mem / MIB,
            workers > 1 ? "a microbatch for each worker" : "one microbatch",
            need / MIB);
    if (with_alpha > config->act_mem * (1 + 1e-9))
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "--act-mem is %.4g MiB, and the windows of "
                              "--window %g take %.4g MiB",
                              config->act_mem / MIB, config->window,
                              with_alpha / MIB);
    return 0;
}

/* ---- rings ---- */

/* By the phases between which the tensor lives. */
static int ring(const struct mtlm_tensor *t, const struct mtlm_window *window,
                int workers)
{
    if (t->first_use == MTLM_PHASE_FORWARD
        && t->last_use == MTLM_PHASE_BACKWARD)
        return window->w;
    if (t->first_use == MTLM_PHASE_FORWARD && t->last_use == MTLM_PHASE_WEIGHT)
        return window->w + window->q;
    if (t->last_use == MTLM_PHASE_WEIGHT)
        return window->g;
    /* What lives within one phase: one in use, one being written. */
    return workers > 2 ? workers : 2;
}

void mtlm_ring_apply(struct mtlm_program *program)
{
    const struct mtlm_graph *graph = program->graph;

    for (int i = 0; i < graph->n_tensors; i++) {
        struct mtlm_tensor *t = graph->tensor[i];

        if ((t->storage == MTLM_STORE_ACTIVATION
             || t->storage == MTLM_STORE_CONTROL)
            && !t->same)
            t->slots = ring(t, &program->window[t->stage],
                            program->config.layout.workers)
                       + t->received;
    }
}
