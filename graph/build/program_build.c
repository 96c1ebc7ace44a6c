/* Builds the program of one rank: parameters, stages and optimizer; then the
 * items. */

#include "config.h"

#include <stdio.h>

#include "codelets/control_slots.h"
#include "graph/build/bucket.h"
#include "graph/build/decode.h"
#include "graph/build/first_gradient.h"
#include "graph/build/offload_items.h"
#include "graph/build/optimizer.h"
#include "graph/build/order_pool.h"
#include "graph/build/packing.h"
#include "graph/build/pool.h"
#include "graph/build/program_build.h"
#include "graph/build/program_items.h"
#include "graph/build/ring.h"
#include "graph/build/save.h"
#include "graph/build/stage.h"
#include "graph/build/turn.h"
#include "graph/build/version.h"
#include "graph/schedule/order_place.h"
#include "runtime/base/memory.h"

static struct mtlm_tensor *param_tensor(struct mtlm_program *program,
                                        const struct mtlm_parameter *p,
                                        enum mtlm_storage storage,
                                        const char *suffix,
                                        enum mtlm_dtype dtype)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const int split = p->info.split;
    const int64_t rows = p->info.rows / (split == 0 ? layout->tp : 1);
    const int64_t cols = p->info.cols / (split == 1 ? layout->tp : 1);
    const struct mtlm_shape shape =
        p->info.cols == 1 ? MTLM_SHAPE(rows) : MTLM_SHAPE(rows, cols);
    char name[160];

    if (p->layer >= 0)
        snprintf(name, sizeof(name), "layers.%d.%s%s", (int) p->layer,
                 p->info.name, suffix);
    else
        snprintf(name, sizeof(name), "%s%s%s", p->info.name,
                 p->copy ? ".head" : "", suffix);
    return mtlm_graph_tensor(program->graph, storage, name, shape, dtype);
}

/* copy: the output layer's copy of the word embedding.  If this rank holds the
 * first stage too, the copy aliases the embedding but has its own gradient.
 */
static void add_param(struct mtlm_program *program, enum mtlm_param kind,
                      int64_t layer, bool copy)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const struct mtlm_model *model = &program->config.model;
    struct mtlm_parameter *input =
        copy ? mtlm_program_param(program, kind, layer, false) : NULL;
    struct mtlm_parameter p = {.kind = kind,
                               .layer = layer,
                               .number = mtlm_param_number(model, kind, layer),
                               .info = mtlm_param_info(model, kind, layout->tp),
                               .copy = copy};

    if (p.info.split == 0)
        p.first_row = p.info.rows / layout->tp * layout->tp_rank;
    if (p.info.split == 1)
        p.first_col = p.info.cols / layout->tp * layout->tp_rank;
    p.counted = !copy && (p.info.split >= 0 || layout->tp_rank == 0);
    p.weight =
        param_tensor(program, &p, MTLM_STORE_PARAM, "", program->config.value);
    mtlm_version_add(program, p.weight);
    if (!program->config.eval_only) {
        p.grad = param_tensor(program, &p, MTLM_STORE_GRAD, ".grad", MTLM_REAL);
        mtlm_version_add(program, p.grad);
    }
    p.weight->grad = p.grad;
    if (input)
        p.weight->alias_of = input->weight;
    program->param[program->n_params++] = p;
    program->param_at[copy ? mtlm_param_numbers(model) : p.number] =
        program->n_params;
}

static void add_params_at(struct mtlm_program *program, enum mtlm_place place)
{
    for (int kind = 0; kind < MTLM_PARAM_COUNT; kind++)
        if (mtlm_param_place(&program->config.model, kind) == place)
            add_param(program, kind, -1, false);
}

static void add_params(struct mtlm_program *program,
                       const struct mtlm_stage *stage)
{
    const int more = stage->n_layers * MTLM_PARAM_PER_LAYER + MTLM_PARAM_COUNT
                     - MTLM_PARAM_PER_LAYER + 1;

    program->param = mtlm_realloc(program->param, program->n_params + more,
                                  sizeof(*program->param));
    program->graph->stage = stage->stage;
    if (stage->first)
        add_params_at(program, MTLM_PLACE_FIRST);
    for (int64_t l = 0; l < stage->n_layers; l++)
        for (int kind = 0; kind < MTLM_PARAM_PER_LAYER; kind++)
            add_param(program, kind, stage->first_layer + l, false);
    if (stage->last) {
        add_params_at(program, MTLM_PLACE_LAST);
        if (program->config.model.head == MTLM_HEAD_PRETRAINING)
            add_param(program, MTLM_PARAM_WORD, -1, true);
    }
}

static struct mtlm_tensor *make_global(struct mtlm_program *program,
                                       const char *name, int64_t n, int slots)
{
    struct mtlm_tensor *t = mtlm_graph_tensor(program->graph, MTLM_STORE_GLOBAL,
                                              name, MTLM_SHAPE(n), MTLM_F64);

    t->slots = slots;
    return t;
}

/* Adds the global tensors of iterations. */
static void add_train_globals(struct mtlm_program *program, bool last)
{
    const int64_t sums = mtlm_optimizer_status_sums(&program->config);

    program->loss =
        last ? make_global(program, "loss", MTLM_LOSS_COUNT, 1) : NULL;
    if (program->loss)
        mtlm_version_add(program, program->loss);
    program->status =
        make_global(program, "status", sums + MTLM_STATUS_EXTRA, 1);
    /* Two slots: the host reads the report of iteration e while e + 1 runs. */
    program->report = make_global(program, "report", MTLM_CONTROL_COUNT, 2);
    if (program->config.params_norm) {
        program->params_sums = make_global(program, "params_sums", sums, 1);
        program->params_norm = make_global(program, "params_norm", 1, 2);
    }
}

static void add_globals(struct mtlm_program *program, bool last)
{
    program->graph->stage = -1;
    program->control = make_global(program, "control", MTLM_CONTROL_COUNT, 1);
    program->pass_control =
        mtlm_version_count(&program->config) > 1
            ? make_global(program, "pass_control", MTLM_CONTROL_COUNT, 1)
            : program->control;
    if (!program->config.eval_only)
        add_train_globals(program, last);
    if (program->config.eval_microbatches > 0) {
        program->eval_loss =
            last ? make_global(program, "eval_loss", MTLM_LOSS_COUNT, 1) : NULL;
        program->eval_status =
            make_global(program, "eval_status", MTLM_STATUS_EXTRA, 1);
        program->eval_report =
            make_global(program, "eval_report", MTLM_STATUS_EXTRA, 2);
    }
}

/* Sets program->place from the config's order. */
static void place_boxes(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    if (!config->order || config->follow == MTLM_FOLLOW_WINDOWS
        || config->eval_only)
        return;
    program->place =
        mtlm_order_places(&boxes, config->order, config->layout.pp_rank);
}

static void place_stages(struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const int v = layout->virtual_stages;

    program->stage = mtlm_calloc(v, sizeof(*program->stage));
    for (int c = 0; c < v; c++) {
        struct mtlm_stage *stage = &program->stage[c];

        stage->stage = mtlm_layout_stage(layout, c);
        stage->first = stage->stage == 0;
        stage->last = stage->stage == mtlm_layout_stages(layout) - 1;
        mtlm_layout_layers(layout, program->config.model.num_layers,
                           stage->stage, &stage->first_layer, &stage->n_layers);
    }
}

static void build_stages(struct mtlm_program *program)
{
    const int v = program->config.layout.virtual_stages;
    const bool trains = !program->config.eval_only;

    for (int c = 0; c < v && trains; c++)
        mtlm_stage_build_forward(program, &program->stage[c]);
    for (int c = v - 1; c >= 0 && trains; c--)
        mtlm_stage_build_backward(program, &program->stage[c]);
    for (int c = 0; c < v && program->config.eval_microbatches > 0; c++)
        mtlm_stage_build_eval(program, &program->stage[c]);
    if (program->config.decoding.sequences > 0)
        mtlm_decode_build(program);
}

struct mtlm_program *mtlm_program_build(
    const struct mtlm_program_config *config)
{
    struct mtlm_program *program = mtlm_calloc(1, sizeof(*program));
    const int v = config->layout.virtual_stages;

    program->config = *config;
    program->graph = mtlm_graph_create();
    place_stages(program);
    program->param_at = mtlm_calloc(mtlm_param_numbers(&config->model) + 1,
                                    sizeof(*program->param_at));
    for (int c = 0; c < v; c++)
        add_params(program, &program->stage[c]);
    mtlm_buckets_create(program);
    add_globals(program, program->stage[v - 1].last);
    build_stages(program);
    mtlm_packing_apply(program);
    mtlm_first_gradient_mark(program);
    for (int c = v - 1; c >= 0 && !config->eval_only; c--) {
        mtlm_buckets_build_reduce(program, c);
        mtlm_optimizer_build_sums(program, c);
    }
    mtlm_optimizer_build_init(program);
    if (!config->eval_only)
        mtlm_optimizer_build(program);
    if (config->eval_microbatches > 0)
        mtlm_optimizer_build_eval_tail(program);
    if (config->save != MTLM_SAVE_NOTHING)
        mtlm_save_build(program);
    if (mtlm_program_is_chained(config))
        mtlm_turn_apply(program);
    place_boxes(program);
    program->window = mtlm_ring_windows(config);
    mtlm_ring_apply(program);
    mtlm_pool_apply(program);
    mtlm_order_pool_apply(program);
    mtlm_offload_items_hold(program);
    if (config->outline)
        mtlm_program_items_count(program);
    else
        mtlm_program_items_write(program);
    return program;
}
