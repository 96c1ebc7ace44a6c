/* Builds the node lists of one virtual stage: forward, gradients, validation,
 * and the messages to the neighbouring stages. */

#include "config.h"

#include <inttypes.h>

#include "graph/build/backward.h"
#include "graph/build/builder.h"
#include "graph/build/embedding_head.h"
#include "graph/build/layers.h"
#include "graph/build/offload.h"
#include "graph/build/recompute.h"
#include "graph/build/stage.h"
#include "graph/build/task_head.h"

/* Messages of one part of a microbatch: forward, backward and validation.  A
 * program that generates text has none of these, but prompts and steps, and
 * MTLM_STAGE_TAG_TOKEN. */
enum { TAG_FORWARD, TAG_BACKWARD, TAG_EVAL, TAGS };
enum { TAG_PROMPT, TAG_STEP };

int mtlm_stage_parts(const struct mtlm_program_config *config)
{
    const int64_t s = config->model.seq_length;
    int n;

    if (config->decoding.sequences > 0)
        return 1;
    if (config->row_parts > 0)
        return config->row_parts;
    n = mtlm_row_parts_count(s, config->micro_batch, config->microbatches);
    if (mtlm_program_splits_rows(config))
        while (n > 1 && !mtlm_row_parts_divide(s, n, config->layout.tp))
            n--;
    return n;
}

bool mtlm_stage_rows_fit(const struct mtlm_program_config *config)
{
    return !mtlm_program_splits_rows(config)
           || mtlm_row_parts_divide(config->model.seq_length,
                                    mtlm_stage_parts(config),
                                    config->layout.tp);
}

int mtlm_stage_tags(const struct mtlm_program_config *config)
{
    return TAGS * mtlm_stage_parts(config);
}

int64_t mtlm_stage_tag_microbatches(const struct mtlm_program_config *config,
                                    int max_tag)
{
    return (max_tag + INT64_C(1))
           / ((int64_t) mtlm_stage_tags(config)
              * mtlm_layout_stages(&config->layout));
}

/* Ring lengths bound the microbatches under way at both ends. */
int mtlm_stage_check_tags(const struct mtlm_program *program, int max_tag,
                          struct mtlm_error *err)
{
    const struct mtlm_graph *graph = program->graph;
    const int64_t have = mtlm_stage_tag_microbatches(&program->config, max_tag);
    int64_t need = 0;

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if (node->lane == MTLM_LANE_PP) {
            const int slots =
                mtlm_tensor_slot(node->operand[0], 0).owner->slots;

            need = slots > need ? slots : need;
        }
    }
    if (need <= have)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "%" PRId64 " microbatches may be under way between two stages, but the "
        "tags of this MPI library (at most %d) distinguish %" PRId64
        " microbatches of %d stages: choose a smaller --window or fewer "
        "--num-virtual-stages-per-pipeline-rank",
        need, max_tag, have, mtlm_layout_stages(&program->config.layout));
}

static union mtlm_attr message_attr(const struct mtlm_builder *b,
                                    int peer_stage, int boundary, int part,
                                    int tag)
{
    return (union mtlm_attr){
        .p2p = {mtlm_layout_rank_of_stage(&b->config->layout, peer_stage),
                boundary * mtlm_stage_tags(b->config) + TAGS * part + tag}};
}

static struct mtlm_tensor *append_receive(const struct mtlm_builder *b,
                                          const char *name, int peer_stage,
                                          int boundary, int part, int tag)
{
    const union mtlm_attr attr =
        message_attr(b, peer_stage, boundary, part, tag);
    const struct mtlm_shape shape =
        MTLM_SHAPE(mtlm_build_own(b, part).n, b->config->micro_batch,
                   b->config->model.hidden_size);
    struct mtlm_tensor *x = mtlm_graph_tensor(b->graph, MTLM_STORE_ACTIVATION,
                                              name, shape, b->config->value);

    x->received = true;
    return MTLM_CALL(b, RECV, &attr, x);
}

static struct mtlm_node *append_send(const struct mtlm_builder *b,
                                     int peer_stage, int boundary, int part,
                                     int tag, struct mtlm_tensor *x)
{
    const union mtlm_attr attr =
        message_attr(b, peer_stage, boundary, part, tag);
    struct mtlm_tensor *const given[MTLM_MAX_OPERANDS] = {x};

    return mtlm_graph_call(b->graph, MTLM_OP_SEND, &attr, given);
}

/* Returns stage k if this rank holds stage k, else NULL. */
static const struct mtlm_stage *find_neighbour(const struct mtlm_builder *b,
                                               int k)
{
    const struct mtlm_layout *layout = &b->config->layout;

    return mtlm_layout_pp_rank(layout, k) == layout->pp_rank
               ? &b->program->stage[mtlm_layout_chunk(layout, k)]
               : NULL;
}

/* Sets *x to the output of stage k: received tensors, or the output itself if
 * this rank holds stage k. */
static void take_input(const struct mtlm_builder *b, int k, int tag,
                       struct mtlm_rows *x)
{
    const struct mtlm_stage *below = find_neighbour(b, k);

    if (below && b->rows > 0)
        x->part[0] = b->token ? below->step_output : below->prompt_output;
    else if (below)
        *x = b->train ? below->output : below->eval_output;
    for (int i = 0; i < b->n_parts && !below; i++)
        x->part[i] = append_receive(b, "input", k, k, i, tag);
}

/* Appends the nodes of a forward pass.  Sets *x to the stage's input and *y to
 * its output. */
static void build_forward(struct mtlm_builder *b, struct mtlm_rows *x,
                          struct mtlm_rows *y)
{
    const struct mtlm_stage *stage = b->stage;
    const int k = stage->stage;
    const int tag = b->train ? TAG_FORWARD : TAG_EVAL;

    mtlm_build_at(b, -1);
    b->lengths = mtlm_build_batch_value(b, "lengths", MTLM_FIELD_LENGTH);
    if (stage->first)
        mtlm_build_embedding(b, x);
    else
        take_input(b, k - 1, tag, x);
    *y = *x;
    for (int64_t l = 0; l < stage->n_layers; l++)
        mtlm_build_layer(b, stage->first_layer + l, y);
    mtlm_build_at(b, -1);
    if (stage->last && b->config->model.head == MTLM_HEAD_PRETRAINING)
        mtlm_build_head(b, y);
    else if (stage->last)
        mtlm_build_task_head(b, y);
    else if (!find_neighbour(b, k + 1))
        for (int i = 0; i < b->n_parts; i++)
            append_send(b, k + 1, k, i, tag, y->part[i]);
}

/* Appends the nodes of one pass of a sequence: layers, and messages.  Returns
 * the stage's output. */
static struct mtlm_tensor *build_pass(const struct mtlm_builder *b)
{
    const struct mtlm_stage *stage = b->stage;
    const int k = stage->stage;
    const int tag = b->token ? TAG_STEP : TAG_PROMPT;
    struct mtlm_rows x;

    mtlm_build_at(b, -1);
    if (stage->first)
        mtlm_build_embedding(b, &x);
    else
        take_input(b, k - 1, tag, &x);
    for (int64_t l = 0; l < stage->n_layers; l++)
        mtlm_build_layer(b, stage->first_layer + l, &x);
    mtlm_build_at(b, -1);
    if (!stage->last && !find_neighbour(b, k + 1))
        append_send(b, k + 1, k, 0, tag, x.part[0]);
    return x.part[0];
}

static struct mtlm_builder make_builder(struct mtlm_program *program,
                                        struct mtlm_stage *stage,
                                        enum mtlm_phase phase,
                                        struct mtlm_list *list)
{
    return (struct mtlm_builder){.program = program,
                                 .graph = program->graph,
                                 .config = &program->config,
                                 .stage = stage,
                                 .list = list,
                                 .phase = phase,
                                 .train = phase != MTLM_PHASE_EVAL,
                                 .n_parts = mtlm_stage_parts(&program->config)};
}

void mtlm_stage_build_forward(struct mtlm_program *program,
                              struct mtlm_stage *stage)
{
    struct mtlm_builder b =
        make_builder(program, stage, MTLM_PHASE_FORWARD, &stage->forward);

    build_forward(&b, &stage->input, &stage->output);
}

/* Returns whether W of all row parts shares nodes.  Where a rank waits for
 * messages, W of one part fills the wait; offloaded units come part by part. */
static bool joins_parts(const struct mtlm_program_config *config)
{
    return config->layout.tp == 1 && config->layout.pp == 1
           && config->offload == MTLM_OFFLOAD_NONE;
}

/* Whether all weight gradients stand in the backward list.  So they do in a
 * fused schedule.  With full uniform recomputation, recomputed tensors and
 * gradients of activations then need not outlive a layer.  With recomputation
 * beside offloaded state, each unit of the state then comes once for B and W.
 */
static bool keeps_together(const struct mtlm_builder *b,
                           const struct mtlm_segments *segments)
{
    const struct mtlm_recompute *recompute = &b->config->recompute;

    return b->config->schedule->fused
           || (segments->n > 0
               && ((recompute->granularity == MTLM_RECOMPUTE_FULL
                    && recompute->method == MTLM_RECOMPUTE_UNIFORM)
                   || mtlm_offload_streams(b->config)));
}

static void differentiate(const struct mtlm_builder *b)
{
    const struct mtlm_recompute *recompute = &b->config->recompute;
    struct mtlm_stage *stage = b->stage;
    struct mtlm_segments segments = mtlm_recompute_segments(recompute, stage);

    segments.whole = b->config->recompute_whole
                     && recompute->granularity == MTLM_RECOMPUTE_FULL;
    mtlm_backward_build(b->graph, &stage->forward, &segments, &stage->backward,
                        keeps_together(b, &segments) ? &stage->backward
                                                     : &stage->weight,
                        joins_parts(b->config));
    mtlm_segments_free(&segments);
}

/* Makes the W nodes of list read `done`; a node that writes `done` then waits
 * for all of them. */
static void add_order_edges(struct mtlm_tensor *done,
                            const struct mtlm_list *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->node[i]->phase == MTLM_PHASE_WEIGHT)
            mtlm_node_add_use(list->node[i], done, MTLM_R, true);
}

/* Gives zeros to the parts of the input that no gradient reaches.  The head of
 * a task reads the first part alone, and a stage without layers has no
 * attention to the others.  The stage below receives all parts. */
static void complete_gradient(const struct mtlm_builder *b,
                              const struct mtlm_rows *x)
{
    for (int i = 0; i < b->n_parts; i++)
        if (!x->part[i]->grad)
            x->part[i]->grad = mtlm_backward_zeros(b->graph, x->part[i]);
}

/* Sends the gradient of the input to the stage below.  In a fused schedule, the
 * message follows all W of the microbatch.  The control tensor `done` gives
 * that order: W nodes read `done`, messages write it. */
static void send_gradient(struct mtlm_builder *b)
{
    struct mtlm_stage *stage = b->stage;
    const int k = stage->stage;
    const bool fused = b->config->schedule->fused;
    struct mtlm_tensor *done = NULL;

    if (stage->first || find_neighbour(b, k - 1))
        return;
    complete_gradient(b, &stage->input);
    if (fused) {
        b->list = &stage->weight;
        mtlm_build_at(b, -1);
        done = mtlm_graph_tensor(b->graph, MTLM_STORE_CONTROL, "W done",
                                 MTLM_SHAPE(1), MTLM_F64);
        add_order_edges(done, &stage->backward);
        add_order_edges(done, &stage->weight);
    }
    for (int i = b->n_parts - 1; i >= 0; i--) {
        struct mtlm_node *node = append_send(b, k - 1, k - 1, i, TAG_BACKWARD,
                                             stage->input.part[i]->grad);

        if (fused)
            mtlm_node_add_use(node, done, MTLM_RW, true);
    }
}

/* Messages go from the last part to the first: in causal models, gradients of
 * later parts are complete first. */
void mtlm_stage_build_backward(struct mtlm_program *program,
                               struct mtlm_stage *stage)
{
    struct mtlm_builder b =
        make_builder(program, stage, MTLM_PHASE_BACKWARD, &stage->backward);
    const int k = stage->stage;

    mtlm_build_at(&b, -1);
    if (!stage->last && !find_neighbour(&b, k + 1))
        for (int i = b.n_parts - 1; i >= 0; i--)
            stage->output.part[i]->grad = append_receive(
                &b, "output gradient", k + 1, k, i, TAG_BACKWARD);
    differentiate(&b);
    mtlm_build_at(&b, -1);
    send_gradient(&b);
}

void mtlm_stage_build_eval(struct mtlm_program *program,
                           struct mtlm_stage *stage)
{
    struct mtlm_builder b =
        make_builder(program, stage, MTLM_PHASE_EVAL, &stage->eval);
    struct mtlm_rows x;

    build_forward(&b, &x, &stage->eval_output);
}

void mtlm_stage_build_decode(struct mtlm_program *program,
                             struct mtlm_stage *stage)
{
    struct mtlm_builder b =
        make_builder(program, stage, MTLM_PHASE_EVAL, &stage->prompt);

    b.rows = program->config.decoding.prompt_rows;
    stage->prompt_output = build_pass(&b);
    b.list = &stage->step;
    b.rows = 1;
    b.token = program->decode.token;
    stage->step_output = build_pass(&b);
}
