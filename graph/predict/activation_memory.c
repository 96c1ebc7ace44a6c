/* Activation memory of a stage, measured on a graph. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/program_build.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/published_memory.h"
#include "runtime/base/memory.h"

/* Bytes of one microbatch. */
struct bytes {
    double kept;      /* from F on */
    double waiting;   /* until W */
    double gradients; /* from B to W */
    double exchanged; /* gradients with a partner from F to B, of equal shape */
};

/* Returns a pipeline of three stages of so many layers each.  The middle one
 * has neither end of the model. */
static struct mtlm_program_config three_stages(
    const struct mtlm_program_config *config, const int64_t *stage_layers)
{
    struct mtlm_program_config three = *config;

    three.model.num_layers = 3 * stage_layers[0];
    three.layout = (struct mtlm_layout){.tp = config->layout.tp,
                                        .pp = 3,
                                        .dp = 1,
                                        .virtual_stages = 1,
                                        .stage_layers = stage_layers,
                                        .pp_rank = 1,
                                        .workers = config->layout.workers};
    three.schedule = mtlm_schedules; /* the default */
    three.window = 1;
    three.act_mem = 0;
    three.stage_windows = NULL;
    three.order = NULL;
    three.distributed_optimizer = false;
    three.eval_microbatches = 0;
    three.eval_only = false;
    three.offload_amount.inputs = 0;
    three.outline = true;
    return three;
}

static bool is_kept(const struct mtlm_tensor *t, enum mtlm_phase first,
                    enum mtlm_phase last)
{
    return t->storage == MTLM_STORE_ACTIVATION && mtlm_tensor_is_owner(t)
           && t->first_use == first && t->last_use == last;
}

/* Returns the bytes of gradients that find a partner of their shape, one each,
 * among the tensors that B reads last. */
static double exchanged_bytes(const struct mtlm_graph *graph)
{
    bool *taken = mtlm_calloc(graph->n_tensors, sizeof(*taken));
    double bytes = 0;

    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];
        int j = 0;

        if (!is_kept(t, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT))
            continue;
        while (j < graph->n_tensors
               && (taken[j]
                   || !is_kept(graph->tensor[j], MTLM_PHASE_FORWARD,
                               MTLM_PHASE_BACKWARD)
                   || !mtlm_tensor_is_like(t, graph->tensor[j])))
            j++;
        if (j == graph->n_tensors)
            continue;
        taken[j] = true;
        bytes += mtlm_tensor_bytes(t);
    }
    free(taken);
    return bytes;
}

static struct bytes bytes_of(const struct mtlm_program_config *config,
                             int64_t layers)
{
    const int64_t stage_layers[] = {layers, layers, layers};
    const struct mtlm_program_config three = three_stages(config, stage_layers);
    struct mtlm_program *program = mtlm_program_build(&three);
    struct bytes bytes = {0, 0, 0, 0};

    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage != MTLM_STORE_ACTIVATION || !mtlm_tensor_is_owner(t)
            || t->first_use == t->last_use)
            continue;
        if (t->first_use == MTLM_PHASE_FORWARD)
            bytes.kept += mtlm_tensor_bytes(t);
        if (t->last_use == MTLM_PHASE_WEIGHT)
            bytes.waiting += mtlm_tensor_bytes(t);
        if (t->first_use == MTLM_PHASE_BACKWARD)
            bytes.gradients += mtlm_tensor_bytes(t);
    }
    bytes.exchanged = exchanged_bytes(program->graph);
    mtlm_program_destroy(program);
    return bytes;
}

struct mtlm_activation_memory mtlm_activation_memory(
    const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    struct mtlm_activation_memory memory = {
        .stage = mtlm_calloc(stages, sizeof(*memory.stage)),
        .exchanged_share = INFINITY};
    struct bytes bytes = {0, 0, 0, 0};
    int64_t measured = -1;

    if (config->profile) {
        free(memory.stage);
        return mtlm_published_memory_stages(config);
    }
    for (int k = 0; k < stages; k++) {
        int64_t layers = mtlm_layout_layer_count(&config->layout,
                                                 config->model.num_layers, k);

        layers = layers > 0 ? layers : 1; /* an end of the model, alone */
        if (layers != measured)
            bytes = bytes_of(config, layers);
        measured = layers;
        memory.stage[k] = bytes.kept;
        memory.waiting_share =
            fmax(memory.waiting_share, bytes.waiting / bytes.kept);
        memory.gradient_share =
            fmax(memory.gradient_share, bytes.gradients / bytes.kept);
        memory.exchanged_share =
            fmin(memory.exchanged_share, bytes.exchanged / bytes.kept);
    }
    return memory;
}

void mtlm_activation_memory_free(struct mtlm_activation_memory *memory)
{
    free(memory->stage);
    memory->stage = NULL;
}

void mtlm_activation_memory_measure(struct mtlm_program_config *config)
{
    if (config->act_mem > 0)
        config->activation = mtlm_activation_memory(config);
}
