/* Chooses the activation windows of a program and sets its ring lengths. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/offload.h"
#include "graph/build/offload_rings.h"
#include "graph/build/ring.h"
#include "graph/build/ring_order.h"
#include "graph/order/rounding.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"

/* ---- windows ---- */

/* Returns whether windows follow from the stages alone. */
static bool follow_from_stages(const struct mtlm_program_config *config)
{
    return config->schedule->sizing == MTLM_SIZING_STAGES && !config->order;
}

/* Returns the layers of a stage that are recomputed as a whole.  F and W of
 * such a layer count as part of B. */
static double layers_again(const struct mtlm_program_config *config,
                           double layers)
{
    const struct mtlm_recompute *recompute = &config->recompute;

    /* Windows that follow from the stages ignore recomputation; a single stage
     * waits for no other stage. */
    if (follow_from_stages(config)
        || recompute->granularity != MTLM_RECOMPUTE_FULL
        || mtlm_layout_stages(&config->layout) == 1)
        return 0;
    if (recompute->method == MTLM_RECOMPUTE_UNIFORM)
        return layers;
    return fmin(layers, recompute->num_layers);
}

const struct mtlm_stage_times *mtlm_ring_times(
    const struct mtlm_program_config *config)
{
    return config->times
                   && config->times->stages
                          == mtlm_layout_stages(&config->layout)
               ? config->times
               : NULL;
}

struct mtlm_window_model mtlm_ring_model(
    const struct mtlm_program_config *config, double *times, double *memory)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const struct mtlm_stage_times *given =
        follow_from_stages(config) ? NULL : mtlm_ring_times(config);
    double share = 1, gradient_share = 0;

    for (int k = 0; k < stages; k++) {
        const double layers = mtlm_layout_layer_count(
            &config->layout, config->model.num_layers, k);
        const double again = layers_again(config, layers);

        memory[k] = times[k] = layers;
        times[stages + k] = layers + 2 * again;
        times[2 * stages + k] = layers - again;
    }
    if (given)
        memcpy(times, given->forward, 3 * stages * sizeof(*times));
    if (config->act_mem > 0) {
        assert(config->activation.stage);
        memcpy(memory, config->activation.stage, stages * sizeof(*memory));
        share = config->activation.waiting_share;
        gradient_share = config->activation.gradient_share;
    }
    return (struct mtlm_window_model){.layout = &config->layout,
                                      .microbatches = config->microbatches,
                                      .forward = times,
                                      .backward = times + stages,
                                      .weight = times + 2 * stages,
                                      .memory = memory,
                                      .weight_share = share,
                                      .gradient_share = gradient_share,
                                      .more_gradients = config->more_gradients,
                                      .hop = given ? given->hop : 0,
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

    if (config->order)
        mtlm_ring_order_windows(config, &model, window);
    else
        mtlm_schedule_windows(config->schedule, &model, window);
    free(times);
    return window;
}

double mtlm_ring_memory(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(4 * stages, sizeof(*times)), memory;
    const struct mtlm_window_model model =
        mtlm_ring_model(config, times, times + 3 * stages);
    struct mtlm_window *window;

    if (mtlm_program_is_ordered(config)) {
        memory = mtlm_ring_order_memory(config, &model);
    } else {
        window = mtlm_ring_windows(config);
        memory = mtlm_window_memory(&model, window);
        free(window);
    }
    free(times);
    return memory;
}

static double least_memory(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(4 * stages, sizeof(*times));
    const struct mtlm_window_model model =
        mtlm_ring_model(config, times, times + 3 * stages);
    const double memory = mtlm_window_least_memory(&model);

    free(times);
    return memory;
}

int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err)
{
    double least, need;

    if (config->act_mem <= 0)
        return 0;
    least = config->order ? 0 : least_memory(config);
    if (least > config->act_mem)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "--act-mem is %.4g MiB, but the activations of %s on each stage of "
            "a rank need %.4g MiB",
            config->act_mem / MTLM_MIB,
            config->layout.workers > 1 ? "a microbatch for each worker"
                                       : "one microbatch",
            least / MTLM_MIB);
    if (!config->order && config->window <= 0)
        return 0;
    need = mtlm_ring_memory(config);
    if (need <= config->act_mem * (1 + MTLM_MEMORY_ROUNDING))
        return 0;
    if (config->order)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "--act-mem is %.4g MiB, but the slots of the "
                              "order need %.4g MiB",
                              config->act_mem / MTLM_MIB, need / MTLM_MIB);
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "--act-mem is %.4g MiB, but the windows of "
                          "--window %g need %.4g MiB",
                          config->act_mem / MTLM_MIB, config->window,
                          need / MTLM_MIB);
}

/* ---- rings ---- */

/* Returns the ring length by the phases between which the tensor lives. */
static int choose_length(const struct mtlm_tensor *t,
                         const struct mtlm_window *window, int workers)
{
    if (t->first_use == MTLM_PHASE_FORWARD
        && t->last_use == MTLM_PHASE_BACKWARD)
        return window->w;
    if (t->first_use == MTLM_PHASE_FORWARD && t->last_use == MTLM_PHASE_WEIGHT)
        return window->w + window->q;
    if (t->last_use == MTLM_PHASE_WEIGHT)
        return window->g;
    /* A tensor of a single phase: one slot in use, one being written.
     */
    return workers > 2 ? workers : 2;
}

static void lengthen_for_order(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    double *times =
        mtlm_calloc(4 * mtlm_layout_stages(&config->layout), sizeof(*times));
    const struct mtlm_window_model model = mtlm_ring_model(
        config, times, times + 3 * mtlm_layout_stages(&config->layout));

    mtlm_ring_order_lengthen(program, &model);
    free(times);
}

void mtlm_ring_apply(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_graph *graph = program->graph;

    for (int i = 0; i < graph->n_tensors; i++) {
        struct mtlm_tensor *t = graph->tensor[i];

        if ((t->storage == MTLM_STORE_ACTIVATION
             || t->storage == MTLM_STORE_CONTROL)
            && !t->alias_of && t->stage >= 0)
            t->slots = choose_length(t, &program->window[t->stage],
                                     config->layout.workers)
                       + t->received;
    }
    if (config->order && config->follow != MTLM_FOLLOW_WINDOWS
        && !config->eval_only)
        lengthen_for_order(program);
    if (mtlm_offload_streams(config))
        mtlm_offload_rings_apply(program);
}
