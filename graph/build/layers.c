/* Builds the forward nodes of one transformer layer: attention half and MLP
 * half. */

#include "config.h"

#include "graph/build/layers.h"

/* Inputs of half a layer, for one part of the rows. */
struct half {
    struct mtlm_tensor *residual, *normal; /* normal: output of the layernorm */
};

static struct half begin_half(const struct mtlm_builder *b, int64_t layer,
                              enum mtlm_param gamma, enum mtlm_param beta,
                              struct mtlm_tensor *x)
{
    const struct mtlm_model *model = &b->config->model;
    const union mtlm_attr norm = {.layernorm = {model->layernorm_epsilon}};
    struct mtlm_tensor *y =
        MTLM_CALL(b, LAYERNORM_FWD, &norm, x, mtlm_build_param(b, gamma, layer),
                  mtlm_build_param(b, beta, layer));

    return (struct half){model->post_layernorm ? y : x,
                         mtlm_build_copy_to_group(b, y)};
}

/* y: the half's last product.  The bias is added after the sum over the ranks;
 * before, the bias would count once per rank. */
static struct mtlm_tensor *end_half(const struct mtlm_builder *b, int64_t layer,
                                    enum mtlm_dropout_site site, int i,
                                    enum mtlm_param bias, struct mtlm_tensor *y,
                                    struct mtlm_tensor *residual)
{
    const union mtlm_attr drop = {
        .dropout = mtlm_build_dropout(b, b->config->model.hidden_dropout, layer,
                                      site, i)};

    return MTLM_CALL(b, BIAS_DROPOUT_ADD_FWD, &drop, mtlm_build_sum(b, y),
                     mtlm_build_param(b, bias, layer), residual);
}

static union mtlm_attr attention_attr(const struct mtlm_builder *b,
                                      int64_t layer, int query_part,
                                      int key_part)
{
    const struct mtlm_model *model = &b->config->model;
    const struct mtlm_layout *layout = &b->config->layout;
    const int heads = model->num_heads / layout->tp;
    const bool alibi = model->positions == MTLM_POSITIONS_ALIBI;

    return (union mtlm_attr){
        .attention = {.heads = heads,
                      .first_head = heads * layout->tp_rank,
                      .causal = model->family == MTLM_GPT,
                      .first_query = mtlm_build_part(b, query_part).first,
                      .first_key = mtlm_build_part(b, key_part).first,
                      .seq_length = model->seq_length,
                      .coefficient = model->query_key_scaling ? layer + 1 : 1,
                      .alibi_heads = alibi ? model->num_heads : 0,
                      .backend = b->config->attention_backend,
                      .dropout =
                          mtlm_build_dropout(b, model->attention_dropout, layer,
                                             MTLM_SITE_ATTENTION, query_part)}};
}

/* Appends attention of the queries of part i: to the keys of part i, then to
 * the keys of each other part that the queries see. */
static struct mtlm_tensor *attend_parts(const struct mtlm_builder *b,
                                        int64_t layer, int i,
                                        const struct mtlm_rows *qkv)
{
    union mtlm_attr attr = attention_attr(b, layer, i, i);
    struct mtlm_tensor *const given[MTLM_MAX_OPERANDS] = {qkv->part[i],
                                                          b->lengths};
    const struct mtlm_node *own =
        mtlm_graph_call(b->graph, MTLM_OP_ATTENTION_FWD, &attr, given);
    struct mtlm_tensor *y = own->operand[2], *lse = own->operand[3];
    const int end = attr.attention.causal ? i : b->n_parts;

    for (int j = 0; j < end; j++) {
        if (j == i)
            continue;
        attr = attention_attr(b, layer, i, j);
        MTLM_CALL(b, ATTENTION_MORE_FWD, &attr, qkv->part[i], qkv->part[j],
                  b->lengths, y, lse);
    }
    return y;
}

/* Generation: attention to the positions so far, which the cache holds. */
static struct mtlm_tensor *attend_cached(const struct mtlm_builder *b,
                                         int64_t layer, struct mtlm_tensor *qkv)
{
    const union mtlm_attr attr = attention_attr(b, layer, 0, 0);

    return MTLM_CALL(b, ATTENTION_CACHED, &attr, qkv,
                     b->program->decode.cache[layer]);
}

static struct mtlm_tensor *attend(const struct mtlm_builder *b, int64_t layer,
                                  int i, const struct mtlm_rows *qkv)
{
    return b->rows > 0 ? attend_cached(b, layer, qkv->part[i])
                       : attend_parts(b, layer, i, qkv);
}

static void attention_half(const struct mtlm_builder *b, int64_t layer,
                           struct mtlm_rows *x)
{
    struct half half[MTLM_MAX_ROW_PARTS];
    struct mtlm_rows qkv;

    for (int i = 0; i < b->n_parts; i++) {
        half[i] = begin_half(b, layer, MTLM_PARAM_LN1_GAMMA,
                             MTLM_PARAM_LN1_BETA, x->part[i]);
        qkv.part[i] =
            MTLM_CALL(b, LINEAR_BIAS_FWD, NULL, half[i].normal,
                      mtlm_build_param(b, MTLM_PARAM_QKV_WEIGHT, layer),
                      mtlm_build_param(b, MTLM_PARAM_QKV_BIAS, layer));
    }
    for (int i = 0; i < b->n_parts; i++)
        x->part[i] = end_half(
            b, layer, MTLM_SITE_PROJECTION, i, MTLM_PARAM_PROJ_BIAS,
            MTLM_CALL(b, LINEAR_FWD, NULL, attend(b, layer, i, &qkv),
                      mtlm_build_param(b, MTLM_PARAM_PROJ_WEIGHT, layer)),
            half[i].residual);
}

/* The two products of the MLP, and GELU between them. */
static struct mtlm_tensor *build_mlp(const struct mtlm_builder *b,
                                     int64_t layer, struct mtlm_tensor *x)
{
    const union mtlm_attr gelu = {
        .gelu = {.exact = b->config->model.exact_gelu}};
    struct mtlm_tensor *const given[MTLM_MAX_OPERANDS] = {
        x, mtlm_build_param(b, MTLM_PARAM_FC1_WEIGHT, layer),
        mtlm_build_param(b, MTLM_PARAM_FC1_BIAS, layer)};
    const struct mtlm_node *up =
        mtlm_graph_call(b->graph, MTLM_OP_LINEAR_GELU_FWD, &gelu, given);

    return MTLM_CALL(b, GELU_LINEAR_FWD, &gelu, up->operand[4],
                     mtlm_build_param(b, MTLM_PARAM_FC2_WEIGHT, layer),
                     up->operand[3]);
}

static void mlp_half(const struct mtlm_builder *b, int64_t layer,
                     struct mtlm_rows *x)
{
    for (int i = 0; i < b->n_parts; i++) {
        const struct half half = begin_half(b, layer, MTLM_PARAM_LN2_GAMMA,
                                            MTLM_PARAM_LN2_BETA, x->part[i]);

        x->part[i] = end_half(b, layer, MTLM_SITE_MLP, i, MTLM_PARAM_FC2_BIAS,
                              build_mlp(b, layer, half.normal), half.residual);
    }
}

void mtlm_build_layer(const struct mtlm_builder *b, int64_t layer,
                      struct mtlm_rows *x)
{
    mtlm_build_at(b, layer);
    attention_half(b, layer, x);
    mlp_half(b, layer, x);
}
