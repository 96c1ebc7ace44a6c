/* Builds the program of one rank in program order: parameters, stages,
 * optimizer, and the items of each microbatch with their priorities. */

#include "config.h"

#include <stdio.h>

#include "graph/build/bucket.h"
#include "graph/build/decode.h"
#include "graph/build/items.h"
#include "graph/build/offload.h"
#include "graph/build/offload_items.h"
#include "graph/build/optimizer.h"
#include "graph/build/order_pool.h"
#include "graph/build/packing.h"
#include "graph/build/pool.h"
#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/build/save.h"
#include "graph/build/stage.h"
#include "graph/build/turn.h"
#include "graph/build/version.h"
#include "graph/schedule/order_place.h"
#include "graph/schedule/priority.h"
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
        p.weight->same = input->weight;
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

static void add_items(struct mtlm_items *items, const struct mtlm_list *list,
                      const struct mtlm_priority *priority, int microbatch,
                      int chunk)
{
    /* A validation may have more; its last microbatches share a priority.
     */
    const int last = priority->microbatches - 1;
    const int order = microbatch < last ? microbatch : last;

    for (int i = 0; i < list->n; i++) {
        const struct mtlm_node *node = list->node[i];

        if (mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_ALIAS)
            continue;
        mtlm_items_append(
            items, (struct mtlm_item){node, microbatch,
                                      mtlm_priority(priority,
                                                    priority->fused
                                                        ? node->phase
                                                        : mtlm_pool_phase(node),
                                                    order, chunk),
                                      -1});
    }
}

static bool writes(const struct mtlm_node *node,
                   const struct mtlm_tensor *tensor)
{
    for (int i = 0; i < mtlm_node_n_uses(node); i++)
        if (mtlm_node_use(node, i).tensor == tensor
            && mtlm_node_use(node, i).access != MTLM_R)
            return true;
    return false;
}

/* Gives W of the word embedding the first place among the items from `first`
 * on, which are the last microbatch's, where the last stage waits for that
 * gradient: the long message then travels while W of the layers runs. */
static void hurry_tied_gradient(struct mtlm_program *program,
                                const struct mtlm_priority *priority, int first)
{
    const struct mtlm_parameter *word =
        mtlm_program_param(program, MTLM_PARAM_WORD, -1, false);
    struct mtlm_items *items = &program->train;

    if (!word || program->config.model.head != MTLM_HEAD_PRETRAINING
        || !mtlm_layout_shares_embedding(&program->config.layout))
        return;
    for (int i = first; i < items->n; i++)
        if (items->item[i].node->phase == MTLM_PHASE_WEIGHT
            && writes(items->item[i].node, word->grad))
            items->item[i].priority =
                mtlm_priority(priority, MTLM_PHASE_OPTIMIZER, -1, 0);
}

/* Packs the weights of a virtual stage.  Forward products wait for their
 * weights; gradients of inputs need theirs only in B, so those wait behind F.
 */
static void add_packs(struct mtlm_program *program,
                      const struct mtlm_priority *priority, int chunk)
{
    const struct mtlm_list *list = &program->stage[chunk].pack;
    const int now = mtlm_priority(priority, MTLM_PHASE_OPTIMIZER, -1, 0);
    const int later = mtlm_priority(priority, MTLM_PHASE_BACKWARD, 0, chunk);

    for (int i = 0; i < list->n; i++) {
        const struct mtlm_node *node = list->node[i];

        mtlm_items_append(
            &program->train,
            (struct mtlm_item){
                node, -1, node->call.attr.pack.gradient ? later : now, -1});
    }
}

/* Adds a box: F, B or W of a microbatch on a virtual stage. */
static void add_box(struct mtlm_program *program,
                    const struct mtlm_priority *priority, enum mtlm_phase phase,
                    int chunk, int microbatch)
{
    const struct mtlm_stage *stage = &program->stage[chunk];
    const bool last = microbatch == program->config.microbatches - 1;
    struct mtlm_items *items = &program->train;
    int first;

    if (microbatch == 0 && phase == MTLM_PHASE_FORWARD)
        add_packs(program, priority, chunk);
    first = items->n;
    add_items(items,
              phase == MTLM_PHASE_FORWARD    ? &stage->forward
              : phase == MTLM_PHASE_BACKWARD ? &stage->backward
                                             : &stage->weight,
              priority, microbatch, chunk);
    if (last)
        hurry_tied_gradient(program, priority, first);
    if (last && phase == MTLM_PHASE_WEIGHT)
        add_items(items, &stage->reduce, priority, -1, chunk);
}

static void add_boxes(struct mtlm_program *program,
                      const struct mtlm_priority *priority)
{
    const int v = program->config.layout.virtual_stages;
    const int m = program->config.microbatches;

    for (int i = 0; i < m; i++) {
        for (int c = 0; c < v; c++)
            add_box(program, priority, MTLM_PHASE_FORWARD, c, i);
        for (int c = v - 1; c >= 0; c--) {
            add_box(program, priority, MTLM_PHASE_BACKWARD, c, i);
            add_box(program, priority, MTLM_PHASE_WEIGHT, c, i);
        }
    }
}

/* B and W of the microbatches of a group. */
static void add_gradients(struct mtlm_program *program,
                          const struct mtlm_priority *priority, int chunk,
                          int first, int end)
{
    for (int i = first; i < end; i++) {
        add_box(program, priority, MTLM_PHASE_BACKWARD, chunk, i);
        add_box(program, priority, MTLM_PHASE_WEIGHT, chunk, i);
    }
}

/* A group goes through the stages and back. */
static void add_group(struct mtlm_program *program,
                      const struct mtlm_priority *priority, int first, int end)
{
    const int v = program->config.layout.virtual_stages;

    for (int c = 0; c < v; c++)
        for (int i = first; i < end; i++) {
            add_box(program, priority, MTLM_PHASE_FORWARD, c, i);
            if (program->stage[c].last)
                add_gradients(program, priority, c, i, i + 1);
        }
    for (int c = v - 1; c >= 0; c--)
        if (!program->stage[c].last)
            add_gradients(program, priority, c, first, end);
}

/* The same boxes, virtual stage after virtual stage: a group of microbatches
 * goes through a stage while the weights of that stage are in memory.  In the
 * last stage B follows F at once: logits of one microbatch are in memory. */
static void add_boxes_by_stage(struct mtlm_program *program,
                               const struct mtlm_priority *priority)
{
    const int m = program->config.microbatches;
    const int group = mtlm_offload_group(&program->config);

    for (int first = 0; first < m; first += group)
        add_group(program, priority, first,
                  first + group < m ? first + group : m);
}

/* Sets the lane of a box's items, from `first` on. */
static void set_lane(struct mtlm_items *items, int first, int lane)
{
    for (int i = first; i < items->n; i++)
        if (items->item[i].microbatch >= 0)
            items->item[i].lane = lane;
}

/* The same boxes in the order of the config.  On each stage, microbatches
 * ascend. */
static void add_boxes_in_order(struct mtlm_program *program,
                               const struct mtlm_priority *priority)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    const int r = config->layout.pp_rank;

    for (int j = 0; j < config->order->n[r]; j++) {
        const int number = config->order->box[r][j];
        const struct mtlm_box box = mtlm_box_at(&boxes, number);
        const int first = program->train.n;

        add_box(program, priority, box.phase,
                mtlm_layout_chunk(&config->layout, box.stage), box.microbatch);
        if (config->order->lane && mtlm_program_is_chained(config))
            set_lane(&program->train, first, config->order->lane[number]);
    }
}

/* The program of a training step: plain gradient accumulation. */
static void write_train(struct mtlm_program *program)
{
    const struct mtlm_priority priority = mtlm_program_priority(program);

    if (mtlm_program_is_ordered(&program->config))
        add_boxes_in_order(program, &priority);
    else if (mtlm_offload_streams(&program->config))
        add_boxes_by_stage(program, &priority);
    else
        add_boxes(program, &priority);
    add_items(&program->train, &program->tail_list, &priority, -1, 0);
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

static void write_init(struct mtlm_program *program)
{
    const struct mtlm_priority priority = {
        .chunks = 1, .microbatches = 1, .order = &mtlm_priority_by_depth};

    add_items(&program->init, &program->init_list, &priority, -1, 0);
}

static void write_eval(struct mtlm_program *program)
{
    const int v = program->config.layout.virtual_stages;
    /* Priorities are those of an iteration, whatever the number of
     * microbatches. */
    const struct mtlm_priority priority = mtlm_program_priority(program);

    const int piece = mtlm_program_piece(&program->config);
    const int group = mtlm_offload_streams(&program->config)
                          ? mtlm_offload_group(&program->config)
                          : 1;

    for (int first = 0; first < piece; first += group)
        for (int c = 0; c < v; c++)
            for (int i = first; i < first + group && i < piece; i++)
                add_items(&program->eval, &program->stage[c].eval, &priority, i,
                          c);
    add_items(&program->eval, &program->eval_tail_list, &priority, -1, 0);
}

static void write_decode(struct mtlm_program *program)
{
    const int v = program->config.layout.virtual_stages;
    const struct mtlm_priority priority = mtlm_program_priority(program);
    struct mtlm_decode *decode = &program->decode;

    add_items(&decode->begin, &decode->begin_list, &priority, 0, 0);
    for (int c = 0; c < v; c++) {
        add_items(&decode->prompt, &program->stage[c].prompt, &priority, 0, c);
        add_items(&decode->step, &program->stage[c].step, &priority, 0, c);
    }
    add_items(&decode->prompt_end, &decode->prompt_end_list, &priority, 0,
              v - 1);
    add_items(&decode->step, &decode->step_end_list, &priority, 0, v - 1);
}

static void write_save(struct mtlm_program *program)
{
    const struct mtlm_priority priority = mtlm_program_priority(program);

    add_items(&program->save, &program->save_list, &priority, -1, 0);
}

/* Inserts the loads and stores of an iteration; with config.eval_only, of a
 * piece of a validation; and notes their bytes. */
static void note_transfers(struct mtlm_program *program)
{
    struct mtlm_items *items =
        program->config.eval_only ? &program->eval : &program->train;
    const struct mtlm_offload_bytes bytes =
        mtlm_offload_items_apply(program, items);

    program->offloaded.loaded_bytes = bytes.loaded;
    program->offloaded.stored_bytes = bytes.stored;
    program->offloaded.moves = bytes.moves;
}

/* Counts the transfers of a program that has no items. */
static void count_transfers(struct mtlm_program *program)
{
    if (program->offloaded.n_units == 0)
        return;
    if (program->config.eval_only)
        write_eval(program);
    else
        write_train(program);
    note_transfers(program);
    mtlm_items_free(&program->train);
    mtlm_items_free(&program->eval);
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

/* Writes all items, with loads and stores. */
static void write_items(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    struct mtlm_decode *decode = &program->decode;
    struct mtlm_items *const lists[] = {&program->init,
                                        &program->save,
                                        &decode->begin,
                                        &decode->prompt,
                                        &decode->prompt_end,
                                        &decode->step,
                                        config->eval_only ? &program->train
                                                          : &program->eval};

    write_init(program);
    if (!config->eval_only)
        write_train(program);
    if (config->eval_microbatches > 0)
        write_eval(program);
    write_decode(program);
    write_save(program);
    note_transfers(program);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        mtlm_offload_items_apply(program, lists[i]);
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
        count_transfers(program);
    else
        write_items(program);
    return program;
}
