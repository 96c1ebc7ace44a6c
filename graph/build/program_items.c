/* Writes the items of a program in program order: the nodes of each microbatch
 * with their priorities. */

#include "config.h"

#include <assert.h>

#include "graph/build/items.h"
#include "graph/build/offload.h"
#include "graph/build/offload_items.h"
#include "graph/build/pool.h"
#include "graph/build/program_items.h"
#include "graph/schedule/priority.h"

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
 * on, the last microbatch's.  The last stage waits for that gradient.  The long
 * message then travels while W of the layers runs. */
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

    /* The first microbatch sets gradients (graph/build/first_gradient.h). */
    assert(mtlm_order_ascends(config->order, &boxes));
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

/* The items of an iteration; with config.eval_only, of a piece of a
 * validation. */
static struct mtlm_items *main_items(struct mtlm_program *program)
{
    return program->config.eval_only ? &program->eval : &program->train;
}

/* Notes what loads and stores of an iteration read and write. */
static void note_transfers(struct mtlm_program *program,
                           struct mtlm_offload_bytes bytes)
{
    program->offloaded.loaded_bytes = bytes.loaded;
    program->offloaded.stored_bytes = bytes.stored;
    program->offloaded.moves = bytes.moves;
}

void mtlm_program_items_count(struct mtlm_program *program)
{
    if (program->offloaded.n_units == 0)
        return;
    if (program->config.eval_only)
        write_eval(program);
    else
        write_train(program);
    note_transfers(program,
                   mtlm_offload_items_count(program, main_items(program)));
    mtlm_items_free(&program->train);
    mtlm_items_free(&program->eval);
}

void mtlm_program_items_write(struct mtlm_program *program)
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
    note_transfers(program,
                   mtlm_offload_items_apply(program, main_items(program)));
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        mtlm_offload_items_apply(program, lists[i]);
}
