/* Memory of published code by its formulas. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/ring.h"
#include "graph/build/ring_order.h"
#include "graph/order/order_memory.h"
#include "graph/predict/profile.h"
#include "graph/predict/published_memory.h"
#include "runtime/base/memory.h"

/* ---- parameters ---- */

struct mtlm_published_state mtlm_published_memory_state(
    const struct mtlm_program_config *config)
{
    const bool wide =
        config->value == MTLM_BF16 || !config->profile->accumulates;

    if (config->value == MTLM_REAL)
        return (struct mtlm_published_state){4, 4, 8};
    return wide ? (struct mtlm_published_state){2, 4, 12}
                : (struct mtlm_published_state){2, 2, 16};
}

/* ---- layers ---- */

/* Bytes of a microbatch in a layer. */
struct kept_layer {
    double whole;   /* what F leaves without recomputation */
    double scores;  /* part of whole: softmax, its mask and its product */
    double input;   /* of the layer */
    double waiting; /* what is in use between B and W */
    double passed;  /* part of waiting: gradients that B leaves for W */
};

static bool splits_rows(const struct mtlm_program_config *config)
{
    return mtlm_program_splits_rows(config);
}

/* Returns the elements of a microbatch's activation [s, b, h]. */
static double sbh_of(const struct mtlm_program_config *config)
{
    return (double) config->model.seq_length * config->micro_batch
           * config->model.hidden_size;
}

static struct kept_layer layer_of(const struct mtlm_program_config *config)
{
    const struct mtlm_model *model = &config->model;
    const double value = mtlm_dtype_bytes(config->value);
    const double t = config->layout.tp;
    /* Every tensor-parallel rank keeps all rows of some tensors. */
    const double rows = splits_rows(config) ? t : 1;
    const double sbh = sbh_of(config);
    const double scores = sbh / t * (2 * value + 1) * model->num_heads
                          * model->seq_length / model->hidden_size;

    return (struct kept_layer){
        .whole = sbh * ((4 * value + 2) / rows + 12 * value / t) + scores,
        .scores = scores,
        .input = sbh * value / rows,
        .waiting = sbh * value * (4 / rows + 12 / t),
        .passed = sbh * value * (2 / rows + 7 / t)};
}

/* Returns the layers of a stage of n that are kept as a whole. */
static double whole_layers(const struct mtlm_recompute *r, double n)
{
    if (r->granularity != MTLM_RECOMPUTE_FULL)
        return n;
    return r->method == MTLM_RECOMPUTE_UNIFORM ? 0 : fmax(0, n - r->num_layers);
}

/* Returns what F leaves of a stage of n layers. */
static double stage_bytes(const struct mtlm_program_config *config,
                          const struct kept_layer *layer, double n)
{
    const struct mtlm_recompute *r = &config->recompute;
    const double whole = whole_layers(r, n);
    const double inputs = r->method == MTLM_RECOMPUTE_UNIFORM
                                  && r->granularity == MTLM_RECOMPUTE_FULL
                              ? ceil(n / fmax(1, r->num_layers))
                              : n - whole;
    const double scores =
        r->granularity == MTLM_RECOMPUTE_SELECTIVE ? layer->scores : 0;

    return whole * (layer->whole - scores) + inputs * layer->input;
}

/* Returns what is computed again at a time, of stages of n layers. */
static double again_bytes(const struct mtlm_program_config *config,
                          const struct kept_layer *layer, double n)
{
    const struct mtlm_recompute *r = &config->recompute;

    switch (r->granularity) {
    case MTLM_RECOMPUTE_SELECTIVE:
        return layer->scores;
    case MTLM_RECOMPUTE_FULL:
        return layer->whole
               * (r->method == MTLM_RECOMPUTE_UNIFORM
                      ? fmin(n, fmax(1, r->num_layers))
                      : 1);
    default:
        return 0;
    }
}

struct mtlm_activation_memory mtlm_published_memory_stages(
    const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const struct kept_layer layer = layer_of(config);
    struct mtlm_activation_memory memory = {
        .stage = mtlm_calloc(stages, sizeof(*memory.stage))};

    for (int k = 0; k < stages; k++) {
        const double n = mtlm_layout_layer_count(&config->layout,
                                                 config->model.num_layers, k);
        const double whole = whole_layers(&config->recompute, n);

        memory.stage[k] = stage_bytes(config, &layer, n);
        memory.waiting_share =
            fmax(memory.waiting_share, whole * layer.waiting / memory.stage[k]);
        memory.gradient_share =
            fmax(memory.gradient_share, whole * layer.passed / memory.stage[k]);
    }
    return memory;
}

/* ---- a rank ---- */

/* Returns the microbatches of a virtual stage that 1f1b, or interleaved, has in
 * flight on the rank; 0: another schedule. */
static double published_slots(const struct mtlm_program_config *config)
{
    const struct mtlm_layout *l = &config->layout;
    const double m = config->microbatches, v = l->virtual_stages;
    const double behind = l->pp - l->pp_rank - 1;

    if (strcmp(config->schedule->name, "1f1b") == 0)
        return fmin(m, behind + 1);
    if (strcmp(config->schedule->name, "interleaved") == 0)
        return fmin(m * v, 2 * behind + (v - 1) * l->pp + 1);
    return 0;
}

/* Returns the memory of the windows, or of the order's slots, on the rank. */
static double slots_memory(const struct mtlm_program *program,
                           const struct mtlm_activation_memory *stages)
{
    struct mtlm_program_config config = program->config;
    const int n = mtlm_layout_stages(&config.layout);
    const int rank = config.layout.pp_rank;
    double *times = mtlm_calloc(4 * n, sizeof(*times)), bytes;
    struct mtlm_window_model model;

    config.activation = *stages;
    model = mtlm_ring_model(&config, times, times + 3 * n);
    model.memory = stages->stage;
    model.weight_share = stages->waiting_share;
    model.gradient_share = stages->gradient_share;
    if (mtlm_program_is_ordered(&config)) {
        const struct mtlm_boxes boxes = mtlm_ring_order_boxes(&config, &model);
        const struct mtlm_slot_rules rules = mtlm_ring_order_rules(&config);

        bytes = mtlm_order_memory(config.order, &boxes, rank, &rules);
    } else {
        bytes = mtlm_window_rank_memory(&model, program->window, rank);
    }
    free(times);
    return bytes;
}

/* Returns what embedding and output layer keep on the rank. */
static double ends_bytes(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_model *model = &config->model;
    const struct mtlm_layout *l = &config->layout;
    const double rows = splits_rows(config) ? l->tp : 1;
    const double tokens = (double) model->seq_length * config->micro_batch;
    double bytes = 0;

    for (int c = 0; c < l->virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        if (stage->first)
            bytes += sbh_of(config) / rows * fmin(config->microbatches, l->pp);
        if (stage->last)
            bytes +=
                2 * mtlm_dtype_bytes(config->value) * sbh_of(config) / rows
                + 4 * tokens * mtlm_model_padded_vocab(model, l->tp) / l->tp;
    }
    return bytes;
}

double mtlm_published_memory_activations(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_layout *l = &config->layout;
    const struct kept_layer layer = layer_of(config);
    const double slots = config->order ? 0 : published_slots(config);
    struct mtlm_activation_memory stages = mtlm_published_memory_stages(config);
    double most = 0, kept = 0;

    for (int c = 0; c < l->virtual_stages; c++) {
        const int k = mtlm_layout_stage(l, c);

        most = fmax(most, mtlm_layout_layer_count(&config->layout,
                                                  config->model.num_layers, k));
        kept += stages.stage[k] * slots / l->virtual_stages;
    }
    if (slots == 0)
        kept = slots_memory(program, &stages);
    free(stages.stage);
    return kept + again_bytes(config, &layer, most) + ends_bytes(program);
}

/* ---- words ---- */

const char *mtlm_published_memory_text(const struct mtlm_program_config *config)
{
    static const char *const text[][2] = {
        [MTLM_RECOMPUTE_NONE] = {"sbh(10 + 24/t + 5as/ht)",
                                 "sbh/t (34 + 5as/h)"},
        [MTLM_RECOMPUTE_SELECTIVE] = {"sbh(10 + 24/t)", "34 sbh/t"},
        [MTLM_RECOMPUTE_FULL] = {"2sbh", "2sbh/t"}};

    return text[config->recompute.granularity][splits_rows(config)];
}
