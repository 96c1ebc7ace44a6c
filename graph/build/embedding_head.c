/* Builds the nodes before the first layer and after the last layer: embedding,
 * final layernorm, output layer and losses. */

#include "config.h"

#include "codelets/control_slots.h"
#include "graph/build/embedding_head.h"
#include "graph/build/loss.h"

static struct mtlm_tensor *tokens_of(const struct mtlm_builder *b, int i)
{
    return b->token ? b->token
                    : mtlm_build_batch(b, "tokens", MTLM_FIELD_TOKENS,
                                       mtlm_build_part(b, i));
}

/* Returns part i of the embedding for x, the rows of the words: with positions,
 * and dropout. */
static struct mtlm_tensor *add_positions(const struct mtlm_builder *b, int i,
                                         struct mtlm_tensor *x)
{
    const struct mtlm_model *model = &b->config->model;
    const union mtlm_attr drop = {
        .dropout = mtlm_build_dropout(b, model->hidden_dropout, 0,
                                      MTLM_SITE_EMBEDDING, i)};

    if (model->positions == MTLM_POSITIONS_LEARNED)
        return MTLM_CALL(b, POSITION_DROPOUT_FWD, &drop, x,
                         mtlm_build_param(b, MTLM_PARAM_POSITION, -1));
    return drop.dropout.p > 0 ? MTLM_CALL(b, EMBEDDING_DROPOUT_FWD, &drop, x)
                              : x;
}

void mtlm_build_embedding(const struct mtlm_builder *b, struct mtlm_rows *x)
{
    const struct mtlm_model *model = &b->config->model;
    const struct mtlm_parameter *word =
        mtlm_program_param(b->program, MTLM_PARAM_WORD, -1, false);
    const union mtlm_attr rows = {
        .vocabulary = {.first = word->first_row, .size = model->vocab_size}};
    const union mtlm_attr types = {
        .vocabulary = {.size = model->num_token_types}};

    mtlm_build_at(b, -1);
    for (int i = 0; i < b->n_parts; i++) {
        struct mtlm_tensor *y =
            MTLM_CALL(b, EMBEDDING_FWD, &rows, tokens_of(b, i), word->weight);

        y = mtlm_build_sum(b, y);
        if (model->family == MTLM_BERT)
            MTLM_CALL(b, TOKEN_TYPE_FWD, &types,
                      mtlm_build_batch(b, "types", MTLM_FIELD_TYPES,
                                       mtlm_build_own(b, i)),
                      mtlm_build_param(b, MTLM_PARAM_TOKEN_TYPE, -1), y);
        if (model->embedding_layernorm)
            y = mtlm_build_layernorm(b, MTLM_PARAM_EMBEDDING_GAMMA,
                                     MTLM_PARAM_EMBEDDING_BETA, y);
        x->part[i] = add_positions(b, i, y);
    }
}

/* Returns new counts of missed labels [2, b], or NULL: this pass counts no
 * hits. */
static struct mtlm_tensor *begin_misses(const struct mtlm_builder *b)
{
    const union mtlm_attr zero = {.fill = {.mean = 0}};
    struct mtlm_tensor *misses;

    if (b->train || b->config->measure != MTLM_MEASURE_HITS)
        return NULL;
    misses =
        mtlm_graph_tensor(b->graph, MTLM_STORE_ACTIVATION, "misses",
                          MTLM_SHAPE(2, b->config->micro_batch), MTLM_REAL);
    MTLM_CALL(b, FILL, &zero, misses);
    return misses;
}

/* Adds up the counts of all parts and shards. */
static void end_misses(const struct mtlm_builder *b, struct mtlm_tensor *misses)
{
    const union mtlm_attr hits = {.vocabulary = {.slot = MTLM_LOSS_SOP_HITS}};

    if (!misses)
        return;
    mtlm_build_reduce(b, misses);
    MTLM_CALL(b, LABEL_HITS, &hits, misses, mtlm_build_loss(b));
}

/* Returns the input of BERT's output layer for x [s_i, b, h]. */
static struct mtlm_tensor *transform_hidden(const struct mtlm_builder *b,
                                            struct mtlm_tensor *x)
{
    /* Megatron-LM's BertLMHead uses the exact form, whatever the MLPs use; with
     * --openai-gelu, the tanh form. */
    const union mtlm_attr gelu = {
        .gelu = {.exact = !b->config->model.tanh_head}};
    struct mtlm_tensor *y;

    y = MTLM_CALL(b, LINEAR_FWD, NULL, x,
                  mtlm_build_param(b, MTLM_PARAM_LM_DENSE_WEIGHT, -1));
    y = MTLM_CALL(b, BIAS_GELU_FWD, &gelu, y,
                  mtlm_build_param(b, MTLM_PARAM_LM_DENSE_BIAS, -1));
    return mtlm_build_layernorm(b, MTLM_PARAM_LM_NORM_GAMMA,
                                MTLM_PARAM_LM_NORM_BETA, y);
}

/* misses: of begin_misses(). */
static void language_model(const struct mtlm_builder *b, int i,
                           struct mtlm_tensor *x, struct mtlm_tensor *misses)
{
    const bool bert = b->config->model.family == MTLM_BERT;
    const struct mtlm_parameter *word =
        mtlm_program_param(b->program, MTLM_PARAM_WORD, -1, true);
    const union mtlm_attr rows = {
        .vocabulary = {.first = word->first_row,
                       .size = b->config->model.vocab_size,
                       .slot = MTLM_LOSS_LM}};
    struct mtlm_tensor *labels =
        mtlm_build_batch(b, "labels", MTLM_FIELD_LABELS, mtlm_build_part(b, i));
    struct mtlm_tensor *weights = mtlm_build_loss_weights(b, i);
    struct mtlm_tensor *logits, *sums;

    if (bert)
        logits = MTLM_CALL(b, LINEAR_BIAS_FWD, NULL,
                           mtlm_build_copy_to_group(b, transform_hidden(b, x)),
                           word->weight,
                           mtlm_build_param(b, MTLM_PARAM_LM_BIAS, -1));
    else
        logits = MTLM_CALL(b, LINEAR_FWD, NULL, mtlm_build_copy_to_group(b, x),
                           word->weight);
    if (!b->train)
        b->program->eval_logits.part[i] = logits;
    sums = mtlm_build_cross_entropy(b, &rows, true, logits, labels, weights);
    if (misses)
        MTLM_CALL(b, LABEL_MISSES, &rows, logits, labels, sums, weights,
                  misses);
}

/* Appends the binary head on x [s_0, b, h], the part with the first token.
 * With sequence parallelism, x holds this rank's own rows.  Only the first
 * rank's rows have the first token. */
static void sentence_order(const struct mtlm_builder *b, struct mtlm_tensor *x)
{
    const int64_t n = b->config->micro_batch;
    struct mtlm_tensor *labels =
        mtlm_build_batch_value(b, "order", MTLM_FIELD_ORDER);
    struct mtlm_tensor *weights =
        mtlm_build_weights(b, "order weights", n, 1.0 / (double) n);
    struct mtlm_tensor *y = mtlm_build_pooled(b, 0, x);

    y = MTLM_CALL(b, LINEAR_BIAS_FWD, NULL, y,
                  mtlm_build_param(b, MTLM_PARAM_BINARY_WEIGHT, -1),
                  mtlm_build_param(b, MTLM_PARAM_BINARY_BIAS, -1));
    if (!b->train)
        b->program->eval_answers[0] = y;
    mtlm_build_answers(b, 2, MTLM_LOSS_SOP, y, labels, weights);
}

struct mtlm_tensor *mtlm_build_logits(const struct mtlm_builder *b,
                                      struct mtlm_tensor *x)
{
    const struct mtlm_parameter *word =
        mtlm_program_param(b->program, MTLM_PARAM_WORD, -1, true);
    const union mtlm_attr all = {
        .collective = {MTLM_GROUP_TP, MTLM_REDUCE_SUM, b->config->layout.tp}};
    struct mtlm_tensor *y = mtlm_build_layernorm(b, MTLM_PARAM_FINAL_GAMMA,
                                                 MTLM_PARAM_FINAL_BETA, x);

    y = MTLM_CALL(b, LINEAR_FWD, NULL, mtlm_build_copy_to_group(b, y),
                  word->weight);
    return b->config->layout.tp > 1 ? MTLM_CALL(b, ALL_GATHER, &all, y) : y;
}

void mtlm_build_head(const struct mtlm_builder *b, const struct mtlm_rows *x)
{
    struct mtlm_tensor *misses;

    mtlm_build_at(b, -1);
    misses = begin_misses(b);
    for (int i = 0; i < b->n_parts; i++) {
        struct mtlm_tensor *y = mtlm_build_layernorm(
            b, MTLM_PARAM_FINAL_GAMMA, MTLM_PARAM_FINAL_BETA, x->part[i]);

        language_model(b, i, y, misses);
        if (i == 0 && b->config->model.family == MTLM_BERT
            && b->config->model.binary_head)
            sentence_order(b, y);
    }
    end_misses(b, misses);
}
