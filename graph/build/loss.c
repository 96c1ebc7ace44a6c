/* Builds losses, and what several heads need before a loss. */

#include "config.h"

#include "codelets/control_slots.h"
#include "graph/build/loss.h"

struct mtlm_tensor *mtlm_build_loss(const struct mtlm_builder *b)
{
    return b->train ? b->program->loss : b->program->eval_loss;
}

struct mtlm_tensor *mtlm_build_layernorm(const struct mtlm_builder *b,
                                         enum mtlm_param gamma,
                                         enum mtlm_param beta,
                                         struct mtlm_tensor *x)
{
    const union mtlm_attr norm = {
        .layernorm = {b->config->model.layernorm_epsilon}};

    return MTLM_CALL(b, LAYERNORM_FWD, &norm, x, mtlm_build_param(b, gamma, -1),
                     mtlm_build_param(b, beta, -1));
}

struct mtlm_tensor *mtlm_build_cross_entropy(const struct mtlm_builder *b,
                                             const union mtlm_attr *columns,
                                             bool split,
                                             struct mtlm_tensor *logits,
                                             struct mtlm_tensor *labels,
                                             struct mtlm_tensor *weights)
{
    struct mtlm_tensor *const given[MTLM_MAX_OPERANDS] = {logits, labels};
    const struct mtlm_node *stats =
        mtlm_graph_call(b->graph, MTLM_OP_XENT_STATS, columns, given);
    struct mtlm_tensor *local = stats->operand[2], *max = stats->operand[3];
    struct mtlm_tensor *sums = stats->operand[4];

    if (split && b->config->layout.tp > 1) {
        mtlm_build_reduce_max(b, max);
        MTLM_CALL(b, XENT_RESCALE, NULL, local, max, sums);
        mtlm_build_reduce(b, sums);
    }
    MTLM_CALL(b, XENT_LOSS, columns, logits, labels, max, sums, weights,
              b->program->pass_control, mtlm_build_loss(b));
    return sums;
}

struct mtlm_tensor *mtlm_build_weights(const struct mtlm_builder *b,
                                       const char *name, int64_t n,
                                       double weight)
{
    const bool counts =
        !mtlm_program_splits_rows(b->config) || b->config->layout.tp_rank == 0;
    const union mtlm_attr value = {.fill = {.mean = counts ? weight : 0}};
    struct mtlm_tensor *weights = mtlm_graph_tensor(
        b->graph, MTLM_STORE_ACTIVATION, name, MTLM_SHAPE(1, n), MTLM_REAL);

    return MTLM_CALL(b, FILL, &value, weights);
}

struct mtlm_tensor *mtlm_build_pooled(const struct mtlm_builder *b, double p,
                                      struct mtlm_tensor *x)
{
    const union mtlm_attr drop = {.dropout = {.p = b->train ? p : 0,
                                              .seed = b->config->seed,
                                              .site = MTLM_SITE_HEAD}};
    struct mtlm_tensor *y = MTLM_CALL(b, POOL_FWD, NULL, x);

    y = MTLM_CALL(b, LINEAR_FWD, NULL, y,
                  mtlm_build_param(b, MTLM_PARAM_POOLER_WEIGHT, -1));
    return MTLM_CALL(b, BIAS_TANH_FWD, &drop, y,
                     mtlm_build_param(b, MTLM_PARAM_POOLER_BIAS, -1));
}

void mtlm_build_answers(const struct mtlm_builder *b, int64_t classes, int slot,
                        struct mtlm_tensor *logits, struct mtlm_tensor *labels,
                        struct mtlm_tensor *weights)
{
    const union mtlm_attr loss = {
        .vocabulary = {.size = classes, .slot = slot}};
    const union mtlm_attr hits = {
        .vocabulary = {.size = classes, .slot = MTLM_LOSS_SOP_HITS}};

    /* The loss comes last: its gradient overwrites the logits. */
    MTLM_CALL(b, ACCURACY, &hits, logits, labels, weights, mtlm_build_loss(b));
    mtlm_build_cross_entropy(b, &loss, false, logits, labels, weights);
}
