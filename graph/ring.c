#include "config.h"

#include <stdlib.h>

#include "graph/ring.h"
#include "graph/window.h"
#include "runtime/memory.h"

#define GIB (1024.0 * 1024 * 1024)

/* ---- windows ---- */

/* A middle one of three stages, so that there is neither end of the model. */
double mtlm_ring_bytes(const struct mtlm_program_config *config, int64_t layers)
{
    const int64_t stage_layers[] = {layers, layers, layers};
    struct mtlm_program_config alone = *config;
    struct mtlm_program *program;
    double bytes = 0;

    alone.model.num_layers = 3 * layers;
    alone.layout = (struct mtlm_layout){.tp = config->layout.tp,
                                        .pp = 3,
                                        .dp = 1,
                                        .virtual_stages = 1,
                                        .stage_layers = stage_layers,
                                        .pp_rank = 1,
                                        .workers = config->layout.workers};
    alone.pipeline = MTLM_PIPELINE_WINDOW;
    alone.act_mem = 0;
    alone.distributed_optimizer = false;
    alone.eval_microbatches = 0;
    alone.outline = true;
    program = mtlm_program_create(&alone);
    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage == MTLM_STORE_ACTIVATION && mtlm_tensor_is_owner(t)
            && t->first_use == MTLM_PHASE_FORWARD
            && t->last_use != MTLM_PHASE_FORWARD)
            bytes += mtlm_tensor_bytes(t);
    }
    mtlm_program_destroy(program);
    return bytes;
}

/* The model of windows of config; times and memory of layers, or memory in
 * bytes, are in layers[] and memory[] [stages]. */
static struct mtlm_window_model window_model(
    const struct mtlm_program_config *config, double *layers, double *memory)
{
    const int stages = mtlm_layout_stages(&config->layout);

    for (int k = 0; k < stages; k++) {
        int64_t first, count;

        mtlm_layout_layers(&config->layout, config->model.num_layers, k, &first,
                           &count);
        layers[k] = memory[k] = count;
        if (config->act_mem > 0)
            memory[k] = k > 0 && layers[k] == layers[k - 1]
                            ? memory[k - 1]
                            : mtlm_ring_bytes(config, count);
    }
    return (struct mtlm_window_model){.layout = &config->layout,
                                      .pipeline = config->pipeline,
                                      .microbatches = config->microbatches,
                                      .forward = layers,
                                      .backward = layers,
                                      .weight = layers,
                                      .memory = memory,
                                      .alpha = config->window,
                                      .most_memory = config->act_mem};
}

struct mtlm_window *mtlm_ring_windows(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *layers = mtlm_calloc(2 * stages, sizeof(*layers));
    struct mtlm_window *window = mtlm_calloc(stages, sizeof(*window));
    const struct mtlm_window_model model =
        window_model(config, layers, layers + stages);

    mtlm_windows(&model, window);
    free(layers);
    return window;
}

int mtlm_ring_check(const struct mtlm_program_config *config,
                    struct mtlm_error *err)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *layers, need;
    struct mtlm_window_model model;

    if (config->act_mem <= 0)
        return 0;
    layers = mtlm_calloc(2 * stages, sizeof(*layers));
    model = window_model(config, layers, layers + stages);
    need = mtlm_windows_least_memory(&model);
    free(layers);
    if (need <= config->act_mem)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "--act-mem is %.3f GiB, the activations of one "
                          "microbatch on each stage take %.3f GiB on a rank",
                          config->act_mem / GIB, need / GIB);
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
