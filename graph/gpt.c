#include "config.h"

#include <assert.h>

#include "graph/backward.h"
#include "graph/gpt.h"

/* A stage under construction; train: with dropout and gradients. */
struct builder {
    struct mtlm_program *program;
    struct mtlm_graph *graph;
    const struct mtlm_program_config *config;
    struct mtlm_stage *stage;
    struct mtlm_list *list;
    enum mtlm_phase phase;
    bool train;
};

static void at_layer(const struct builder *b, int64_t layer)
{
    mtlm_graph_at(b->graph, b->list, b->phase, b->stage->stage, layer);
}

static struct mtlm_tensor *param(const struct builder *b, enum mtlm_param kind,
                                 int64_t layer)
{
    struct mtlm_parameter *p =
        mtlm_program_param(b->program, kind, layer, false);

    assert(p);
    return p->weight;
}

/* Calls kind on the given operands, in order; those that the call makes come
 * last.  Returns the first of them. */
static struct mtlm_tensor *call(const struct builder *b, enum mtlm_op_kind kind,
                                const union mtlm_attr *attr,
                                struct mtlm_tensor *const in[], int n)
{
    struct mtlm_tensor *given[MTLM_MAX_OPERANDS] = {0};

    for (int i = 0; i < n; i++)
        given[i] = in[i];
    return mtlm_graph_call(b->graph, kind, attr, given)
        ->operand[n < mtlm_ops[kind]->n_operands ? n : 0];
}

#define CALL(b, OP, attr, ...)                                                 \
    call(b, MTLM_OP_##OP, attr, (struct mtlm_tensor *[]){__VA_ARGS__},         \
         sizeof((struct mtlm_tensor *[]){__VA_ARGS__})                         \
             / sizeof(struct mtlm_tensor *))

static const union mtlm_attr tp_sum = {
    .all_reduce = {MTLM_GROUP_TP, MTLM_REDUCE_SUM}};
static const union mtlm_attr tp_max = {
    .all_reduce = {MTLM_GROUP_TP, MTLM_REDUCE_MAX}};

/* Megatron's g: adds up the partial sums of the tensor-parallel group. */
static void reduce(const struct builder *b, const union mtlm_attr *attr,
                   struct mtlm_tensor *x)
{
    if (b->config->layout.tp > 1)
        CALL(b, ALL_REDUCE, attr, x);
}

/* Megatron's f: every rank of the group uses x, so that its gradient is the
 * sum of theirs. */
static struct mtlm_tensor *copy_to_group(const struct builder *b,
                                         struct mtlm_tensor *x)
{
    struct mtlm_tensor *y = x;

    if (b->config->layout.tp > 1) {
        y = CALL(b, TP_COPY, &tp_sum, x);
        y->same = x;
    }
    return y;
}

static struct mtlm_dropout dropout(const struct builder *b, double p,
                                   int64_t layer, enum mtlm_dropout_site site)
{
    return (struct mtlm_dropout){.p = b->train ? p : 0,
                                 .seed = b->config->seed,
                                 .layer = layer,
                                 .site = site};
}

static struct mtlm_shape activation(const struct builder *b)
{
    return MTLM_SHAPE(b->config->model.seq_length, b->config->micro_batch,
                      b->config->model.hidden_size);
}

/* A tensor [rows, b] that kind makes from the samples of this microbatch. */
static struct mtlm_tensor *read_samples(const struct builder *b,
                                        enum mtlm_op_kind kind,
                                        enum mtlm_field field, const char *name,
                                        int64_t rows)
{
    const union mtlm_attr attr = {
        .batch = {.source = b->train ? b->config->train : b->config->valid,
                  .field = field,
                  .seq_length = b->config->model.seq_length}};
    struct mtlm_tensor *t = mtlm_graph_tensor(
        b->graph, MTLM_STORE_ACTIVATION, name,
        MTLM_SHAPE(rows, b->config->micro_batch), mtlm_ops[kind]->dtype[0]);

    return call(b, kind, &attr, &t, 1);
}

/* tokens or labels [s, b] */
static struct mtlm_tensor *batch(const struct builder *b, enum mtlm_field field)
{
    return read_samples(b, MTLM_OP_BATCH, field,
                        field == MTLM_FIELD_LABELS ? "labels" : "tokens",
                        b->config->model.seq_length);
}

/* Tokens of each sample before its padding [1, b]. */
static struct mtlm_tensor *sample_lengths(const struct builder *b)
{
    return read_samples(b, MTLM_OP_BATCH, MTLM_FIELD_LENGTH, "lengths", 1);
}

/* What each label counts in the loss of its microbatch [s, b]. */
static struct mtlm_tensor *loss_weights(const struct builder *b)
{
    return read_samples(b, MTLM_OP_LOSS_WEIGHTS, MTLM_FIELD_LOSS_MASK,
                        "loss weights", b->config->model.seq_length);
}

/* Word embedding (rows of other ranks give zero, then the sum), position
 * embedding, dropout. */
static struct mtlm_tensor *embedding(const struct builder *b)
{
    const struct mtlm_parameter *word =
        mtlm_program_param(b->program, MTLM_PARAM_WORD, -1, false);
    const union mtlm_attr rows = {
        .vocabulary = {word->first_row, b->config->model.vocab_size}};
    const union mtlm_attr drop = {
        .dropout = dropout(b, b->config->model.hidden_dropout, 0,
                           MTLM_SITE_EMBEDDING)};
    struct mtlm_tensor *x;

    at_layer(b, -1);
    x = CALL(b, EMBEDDING_FWD, &rows, batch(b, MTLM_FIELD_TOKENS),
             word->weight);
    reduce(b, &tp_sum, x);
    return CALL(b, POSITION_DROPOUT_FWD, &drop, x,
                param(b, MTLM_PARAM_POSITION, -1));
}

/* x + dropout(projection(attention(layernorm(x)))) */
static struct mtlm_tensor *attention_block(const struct builder *b,
                                           int64_t layer,
                                           struct mtlm_tensor *lengths,
                                           struct mtlm_tensor *x)
{
    const struct mtlm_model *model = &b->config->model;
    const struct mtlm_layout *layout = &b->config->layout;
    const int heads = model->num_heads / layout->tp;
    const union mtlm_attr norm = {.layernorm = {model->layernorm_epsilon}};
    const union mtlm_attr attend = {
        .attention = {.heads = heads,
                      .first_head = heads * layout->tp_rank,
                      .causal = true,
                      .seq_length = model->seq_length,
                      .coefficient = 1,
                      .dropout = dropout(b, model->attention_dropout, layer,
                                         MTLM_SITE_ATTENTION)}};
    const union mtlm_attr drop = {
        .dropout =
            dropout(b, model->hidden_dropout, layer, MTLM_SITE_PROJECTION)};
    struct mtlm_tensor *y;

    y = CALL(b, LAYERNORM_FWD, &norm, x, param(b, MTLM_PARAM_LN1_GAMMA, layer),
             param(b, MTLM_PARAM_LN1_BETA, layer));
    y = CALL(b, LINEAR_BIAS_FWD, NULL, copy_to_group(b, y),
             param(b, MTLM_PARAM_QKV_WEIGHT, layer),
             param(b, MTLM_PARAM_QKV_BIAS, layer));
    y = CALL(b, ATTENTION_FWD, &attend, y, lengths);
    y = CALL(b, LINEAR_FWD, NULL, y, param(b, MTLM_PARAM_PROJ_WEIGHT, layer));
    reduce(b, &tp_sum, y);
    return CALL(b, BIAS_DROPOUT_ADD_FWD, &drop, y,
                param(b, MTLM_PARAM_PROJ_BIAS, layer), x);
}

/* x + dropout(fc2(gelu(fc1(layernorm(x))))).  fc2's bias is added after the
 * sum: added by every rank it would count t times. */
static struct mtlm_tensor *mlp_block(const struct builder *b, int64_t layer,
                                     struct mtlm_tensor *x)
{
    const struct mtlm_model *model = &b->config->model;
    const union mtlm_attr norm = {.layernorm = {model->layernorm_epsilon}};
    const union mtlm_attr drop = {
        .dropout = dropout(b, model->hidden_dropout, layer, MTLM_SITE_MLP)};
    struct mtlm_tensor *y;

    y = CALL(b, LAYERNORM_FWD, &norm, x, param(b, MTLM_PARAM_LN2_GAMMA, layer),
             param(b, MTLM_PARAM_LN2_BETA, layer));
    y = CALL(b, LINEAR_FWD, NULL, copy_to_group(b, y),
             param(b, MTLM_PARAM_FC1_WEIGHT, layer));
    y = CALL(b, BIAS_GELU_FWD, NULL, y, param(b, MTLM_PARAM_FC1_BIAS, layer));
    y = CALL(b, LINEAR_FWD, NULL, y, param(b, MTLM_PARAM_FC2_WEIGHT, layer));
    reduce(b, &tp_sum, y);
    return CALL(b, BIAS_DROPOUT_ADD_FWD, &drop, y,
                param(b, MTLM_PARAM_FC2_BIAS, layer), x);
}

/* Final layernorm, tied output layer, cross-entropy over the split
 * vocabulary. */
static void head(const struct builder *b, struct mtlm_tensor *x)
{
    const struct mtlm_program_config *config = b->config;
    const struct mtlm_parameter *word =
        mtlm_program_param(b->program, MTLM_PARAM_WORD, -1, true);
    const union mtlm_attr norm = {
        .layernorm = {config->model.layernorm_epsilon}};
    const union mtlm_attr rows = {.vocabulary = {word->first_row,
                                                 config->model.vocab_size,
                                                 MTLM_LOSS_LM}};
    struct mtlm_tensor *logits, *labels, *weights, *local, *max, *sums;
    struct mtlm_node *stats;

    at_layer(b, -1);
    labels = batch(b, MTLM_FIELD_LABELS);
    weights = loss_weights(b);
    x = CALL(b, LAYERNORM_FWD, &norm, x, param(b, MTLM_PARAM_FINAL_GAMMA, -1),
             param(b, MTLM_PARAM_FINAL_BETA, -1));
    logits = CALL(b, LINEAR_FWD, NULL, copy_to_group(b, x), word->weight);
    stats = mtlm_graph_call(
        b->graph, MTLM_OP_XENT_STATS, &rows,
        (struct mtlm_tensor *[MTLM_MAX_OPERANDS]){logits, labels});
    local = stats->operand[2], max = stats->operand[3];
    sums = stats->operand[4];
    reduce(b, &tp_max, max);
    if (config->layout.tp > 1)
        CALL(b, XENT_RESCALE, NULL, local, max, sums);
    reduce(b, &tp_sum, sums);
    CALL(b, XENT_LOSS, &rows, logits, labels, max, sums, weights,
         b->train ? b->program->loss : b->program->eval_loss);
}

/* Tags of one microbatch: forward, backward and validation messages across
 * the boundary above stage k. */
enum { TAG_FORWARD, TAG_BACKWARD, TAG_EVAL };

static union mtlm_attr p2p(const struct builder *b, int peer_stage,
                           int boundary, int tag)
{
    return (union mtlm_attr){
        .p2p = {mtlm_layout_rank_of_stage(&b->config->layout, peer_stage),
                boundary * MTLM_GPT_TAGS + tag}};
}

static struct mtlm_tensor *receive(const struct builder *b, const char *name,
                                   int peer_stage, int boundary, int tag)
{
    const union mtlm_attr attr = p2p(b, peer_stage, boundary, tag);
    struct mtlm_tensor *x = mtlm_graph_tensor(b->graph, MTLM_STORE_ACTIVATION,
                                              name, activation(b), MTLM_REAL);

    x->received = true;
    return CALL(b, RECV, &attr, x);
}

static void forward(const struct builder *b, struct mtlm_tensor **x,
                    struct mtlm_tensor **y)
{
    const struct mtlm_stage *stage = b->stage;
    const int k = stage->stage;
    const int tag = b->train ? TAG_FORWARD : TAG_EVAL;
    struct mtlm_tensor *t, *lengths;

    at_layer(b, -1);
    lengths = sample_lengths(b);
    *x = t =
        stage->first ? embedding(b) : receive(b, "input", k - 1, k - 1, tag);
    for (int64_t l = 0; l < stage->n_layers; l++) {
        at_layer(b, stage->first_layer + l);
        t = attention_block(b, stage->first_layer + l, lengths, t);
        t = mlp_block(b, stage->first_layer + l, t);
    }
    *y = t;
    if (stage->last) {
        head(b, t);
    } else {
        const union mtlm_attr attr = p2p(b, k + 1, k, tag);

        at_layer(b, -1);
        CALL(b, SEND, &attr, t);
    }
}

void mtlm_gpt_build(struct mtlm_program *program, struct mtlm_stage *stage)
{
    struct builder b = {.program = program,
                        .graph = program->graph,
                        .config = &program->config,
                        .stage = stage,
                        .list = &stage->forward,
                        .phase = MTLM_PHASE_FORWARD,
                        .train = true};
    const int k = stage->stage;
    struct mtlm_tensor *x, *y;

    forward(&b, &x, &y);
    b.list = &stage->backward;
    b.phase = MTLM_PHASE_BACKWARD;
    at_layer(&b, -1);
    if (!stage->last)
        y->grad = receive(&b, "output gradient", k + 1, k, TAG_BACKWARD);
    mtlm_graph_backward(program->graph, &stage->forward, &stage->backward,
                        &stage->weight);
    if (!stage->first) {
        const union mtlm_attr attr = p2p(&b, k - 1, k - 1, TAG_BACKWARD);

        at_layer(&b, -1);
        CALL(&b, SEND, &attr, x->grad);
    }
    if (program->config.eval_microbatches > 0) {
        b.train = false;
        b.list = &stage->eval;
        b.phase = MTLM_PHASE_EVAL;
        forward(&b, &x, &y);
    }
}
