/* Builds the heads of fine-tuning tasks. */

#include "config.h"

#include <assert.h>

#include "codelets/control_slots.h"
#include "graph/build/loss.h"
#include "graph/build/task_head.h"

static struct mtlm_tensor *normalize(const struct mtlm_builder *b,
                                     struct mtlm_tensor *x)
{
    return mtlm_build_layernorm(b, MTLM_PARAM_FINAL_GAMMA,
                                MTLM_PARAM_FINAL_BETA, x);
}

/* Returns the outputs [s_i, b, n] of the task's linear layer. */
static struct mtlm_tensor *output(const struct mtlm_builder *b,
                                  struct mtlm_tensor *x)
{
    return MTLM_CALL(b, LINEAR_BIAS_FWD, NULL, x,
                     mtlm_build_param(b, MTLM_PARAM_TASK_WEIGHT, -1),
                     mtlm_build_param(b, MTLM_PARAM_TASK_BIAS, -1));
}

/* Returns new scores [1, n, cols] of zeros. */
static struct mtlm_tensor *new_scores(const struct mtlm_builder *b,
                                      const char *name, int64_t n, int64_t cols)
{
    const union mtlm_attr zero = {.fill = {0}};
    struct mtlm_tensor *scores =
        mtlm_graph_tensor(b->graph, MTLM_STORE_ACTIVATION, name,
                          MTLM_SHAPE(1, n, cols), b->config->value);

    return MTLM_CALL(b, FILL, &zero, scores);
}

/* x: the part with the first token. */
static void classify(const struct mtlm_builder *b, struct mtlm_tensor *x)
{
    const struct mtlm_model *model = &b->config->model;
    const int64_t choices = mtlm_model_choices(model);
    const int64_t n = b->config->micro_batch / choices;
    const union mtlm_attr group = {.scores = {.choices = choices}};
    struct mtlm_tensor *labels =
        mtlm_build_question_value(b, "classes", MTLM_FIELD_CLASS);
    struct mtlm_tensor *weights =
        mtlm_build_weights(b, "class weights", n, 1.0 / (double) n);
    struct mtlm_tensor *y =
        output(b, mtlm_build_pooled(b, model->hidden_dropout, x));

    assert(b->config->micro_batch % choices == 0);
    if (model->head == MTLM_HEAD_CHOICE)
        y = MTLM_CALL(b, SCORES_FWD, &group, y, b->lengths,
                      new_scores(b, "scores", n, choices));
    if (!b->train)
        b->program->eval_answers[0] = y;
    mtlm_build_answers(b, model->classes, MTLM_LOSS_LM, y, labels, weights);
}

/* Adds the logits of part i to the scores of all positions. */
static void add_part(const struct mtlm_builder *b, int i, struct mtlm_tensor *x,
                     struct mtlm_tensor *const scores[2])
{
    const union mtlm_attr all = {
        .collective = {MTLM_GROUP_TP, MTLM_REDUCE_SUM, b->config->layout.tp}};
    struct mtlm_tensor *y = output(b, x);

    if (mtlm_program_splits_rows(b->config))
        y = MTLM_CALL(b, ALL_GATHER, &all, y);
    for (int end = 0; end < 2; end++) {
        const union mtlm_attr column = {
            .scores = {.first = mtlm_build_part(b, i).first,
                       .column = end,
                       .choices = 1}};

        MTLM_CALL(b, SCORES_FWD, &column, y, b->lengths, scores[end]);
    }
}

static void find_span(const struct mtlm_builder *b, const struct mtlm_rows *x)
{
    const int64_t s = b->config->model.seq_length, n = b->config->micro_batch;
    const union mtlm_attr positions = {
        .vocabulary = {.size = s, .slot = MTLM_LOSS_LM}};
    struct mtlm_tensor *const labels[2] = {
        mtlm_build_batch_value(b, "starts", MTLM_FIELD_START),
        mtlm_build_batch_value(b, "ends", MTLM_FIELD_END)};
    struct mtlm_tensor *weights =
        mtlm_build_weights(b, "span weights", n, 0.5 / (double) n);
    struct mtlm_tensor *const scores[2] = {new_scores(b, "start scores", n, s),
                                           new_scores(b, "end scores", n, s)};

    for (int i = 0; i < b->n_parts; i++)
        add_part(b, i, normalize(b, x->part[i]), scores);
    for (int end = 0; end < 2; end++) {
        if (!b->train)
            b->program->eval_answers[end] = scores[end];
        mtlm_build_cross_entropy(b, &positions, false, scores[end], labels[end],
                                 weights);
    }
}

void mtlm_build_task_head(const struct mtlm_builder *b,
                          const struct mtlm_rows *x)
{
    if (b->config->model.head == MTLM_HEAD_SPAN)
        find_span(b, x);
    else
        classify(b, normalize(b, x->part[0]));
}
