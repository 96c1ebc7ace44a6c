/* Sizes, checks and parameters of a GPT or a BERT. */

#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "models/model.h"
#include "runtime/base/round_up.h"

/* Limits beyond every model; the product of three sizes fits in 64 bits. */
#define LIMIT ((int64_t) 1 << 20)

const char *mtlm_model_family_name(enum mtlm_family family)
{
    return family == MTLM_BERT ? "BERT" : "GPT";
}

int64_t mtlm_model_choices(const struct mtlm_model *model)
{
    return model->head == MTLM_HEAD_CHOICE ? model->classes : 1;
}

int64_t mtlm_model_padded_vocab(const struct mtlm_model *model, int t)
{
    const int64_t unit = model->vocab_multiple * t;

    return mtlm_round_up(model->vocab_size, unit);
}

double mtlm_model_padded_parameters(const struct mtlm_model *model, int t)
{
    double n = 0;

    for (int p = 0; p < MTLM_PARAM_COUNT; p++) {
        const struct mtlm_param_info info = mtlm_param_info(model, p, t);
        const enum mtlm_place place = mtlm_param_place(model, p);

        if (place != MTLM_PLACE_NONE)
            n += (double) info.rows * info.cols
                 * (place == MTLM_PLACE_LAYER ? model->num_layers : 1);
    }
    return n;
}

double mtlm_model_parameters(const struct mtlm_model *model)
{
    struct mtlm_model exact = *model;

    exact.vocab_multiple = 1;
    return mtlm_model_padded_parameters(&exact, 1);
}

double mtlm_model_flops(const struct mtlm_model *model, int64_t batch)
{
    const double s = model->seq_length, h = model->hidden_size;
    const double f = model->ffn_hidden_size;
    const bool output = model->head == MTLM_HEAD_PRETRAINING;
    const double l = model->num_layers;
    const double v = output ? mtlm_model_padded_vocab(model, 1) : 0;
    const double head =
        output && model->family == MTLM_BERT ? 6 * batch * s * h * h : 0;

    return 6 * batch * s * h * (l * (4 * h + 2 * f + 2 * s) + v) + head;
}

static int check_range(const char *what, int64_t value, int64_t min,
                       int64_t max, struct mtlm_error *err)
{
    if (value >= min && value <= max)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s is %" PRId64 ", it must be %" PRId64
                          " to %" PRId64,
                          what, value, min, max);
}

/* A width of 1 would make matrices of one column, which count as vectors
 * (struct mtlm_param_info). */
enum { LEAST_WIDTH = 2 };

int mtlm_model_check(const struct mtlm_model *model, struct mtlm_error *err)
{
    if (check_range("--num-layers", model->num_layers, 1, 1 << 15, err) < 0
        || check_range("--hidden-size", model->hidden_size, LEAST_WIDTH, LIMIT,
                       err)
               < 0
        || check_range("--num-attention-heads", model->num_heads, 1, LIMIT, err)
               < 0
        || check_range("--ffn-hidden-size", model->ffn_hidden_size, LEAST_WIDTH,
                       4 * LIMIT, err)
               < 0
        || check_range("--seq-length", model->seq_length, 1, LIMIT, err) < 0
        || check_range("--max-position-embeddings", model->max_positions, 1,
                       LIMIT, err)
               < 0
        || check_range("the vocabulary size", model->vocab_size, 1, 1 << 30,
                       err)
               < 0)
        return -1;
    if (model->hidden_size % model->num_heads)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--hidden-size %" PRId64
            " is not a multiple of --num-attention-heads %" PRId64,
            model->hidden_size, model->num_heads);
    if (model->family == MTLM_BERT
        && (model->positions != MTLM_POSITIONS_LEARNED
            || model->embedding_layernorm))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s is for --model-type gpt; this model is a "
                              "bert",
                              model->embedding_layernorm
                                  ? "--embed-layernorm"
                                  : "--position-embedding-type alibi");
    if (model->max_positions < model->seq_length)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--seq-length %" PRId64
                              " exceeds --max-position-embeddings %" PRId64,
                              model->seq_length, model->max_positions);
    return 0;
}

/* Names of the heads of tasks: Megatron-LM's, and of a span transformers'. */
static const char *const task_names[][2] = {
    [MTLM_HEAD_PRETRAINING] = {"", ""},
    [MTLM_HEAD_CLASSIFICATION] = {"classification_head.weight",
                                  "classification_head.bias"},
    [MTLM_HEAD_CHOICE] = {"multichoice_head.weight", "multichoice_head.bias"},
    [MTLM_HEAD_SPAN] = {"qa_outputs.weight", "qa_outputs.bias"},
};

/* Returns the rows of the weight of a task's head. */
static int64_t task_rows(const struct mtlm_model *model)
{
    return model->head == MTLM_HEAD_CHOICE ? 1
           : model->head == MTLM_HEAD_SPAN ? 2
                                           : model->classes;
}

struct mtlm_param_info mtlm_param_info(const struct mtlm_model *model,
                                       enum mtlm_param param, int t)
{
    const int64_t h = model->hidden_size, f = model->ffn_hidden_size;
    const int64_t v = mtlm_model_padded_vocab(model, t);
    const double std = model->init_std;
    /* Outputs accumulate in the residual stream: scale by 1 / sqrt(2 l). */
    const double out = std / sqrt(2.0 * model->num_layers);
    const struct mtlm_param_info table[MTLM_PARAM_COUNT] = {
        [MTLM_PARAM_LN1_GAMMA] = {"input_layernorm.weight", h, 1, -1, 1, 0, 0},
        [MTLM_PARAM_LN1_BETA] = {"input_layernorm.bias", h, 1, -1, 0, 0, 0},
        [MTLM_PARAM_QKV_WEIGHT] = {"self_attention.query_key_value.weight",
                                   3 * h, h, 0, 0, std, 1},
        [MTLM_PARAM_QKV_BIAS] = {"self_attention.query_key_value.bias", 3 * h,
                                 1, 0, 0, 0, 0},
        [MTLM_PARAM_PROJ_WEIGHT] = {"self_attention.dense.weight", h, h, 1, 0,
                                    out, 1},
        [MTLM_PARAM_PROJ_BIAS] = {"self_attention.dense.bias", h, 1, -1, 0, 0,
                                  0},
        [MTLM_PARAM_LN2_GAMMA] = {"post_attention_layernorm.weight", h, 1, -1,
                                  1, 0, 0},
        [MTLM_PARAM_LN2_BETA] = {"post_attention_layernorm.bias", h, 1, -1, 0,
                                 0, 0},
        [MTLM_PARAM_FC1_WEIGHT] = {"mlp.dense_h_to_4h.weight", f, h, 0, 0, std,
                                   1},
        [MTLM_PARAM_FC1_BIAS] = {"mlp.dense_h_to_4h.bias", f, 1, 0, 0, 0, 0},
        [MTLM_PARAM_FC2_WEIGHT] = {"mlp.dense_4h_to_h.weight", h, f, 1, 0, out,
                                   1},
        [MTLM_PARAM_FC2_BIAS] = {"mlp.dense_4h_to_h.bias", h, 1, -1, 0, 0, 0},
        [MTLM_PARAM_WORD] = {"word_embeddings.weight", v, h, 0, 0, std, 1},
        [MTLM_PARAM_POSITION] = {"position_embeddings.weight",
                                 model->max_positions, h, -1, 0, std, 1},
        [MTLM_PARAM_FINAL_GAMMA] = {"final_layernorm.weight", h, 1, -1, 1, 0,
                                    0},
        [MTLM_PARAM_FINAL_BETA] = {"final_layernorm.bias", h, 1, -1, 0, 0, 0},
        [MTLM_PARAM_TOKEN_TYPE] = {"tokentype_embeddings.weight",
                                   model->num_token_types, h, -1, 0, std, 1},
        [MTLM_PARAM_LM_DENSE_WEIGHT] = {"lm_head.dense.weight", h, h, -1, 0,
                                        std, 1},
        [MTLM_PARAM_LM_DENSE_BIAS] = {"lm_head.dense.bias", h, 1, -1, 0, 0, 0},
        [MTLM_PARAM_LM_NORM_GAMMA] = {"lm_head.layernorm.weight", h, 1, -1, 1,
                                      0, 0},
        [MTLM_PARAM_LM_NORM_BETA] = {"lm_head.layernorm.bias", h, 1, -1, 0, 0,
                                     0},
        [MTLM_PARAM_LM_BIAS] = {"lm_head.bias", v, 1, 0, 0, 0, 0},
        [MTLM_PARAM_POOLER_WEIGHT] = {"pooler.dense.weight", h, h, -1, 0, std,
                                      1},
        [MTLM_PARAM_POOLER_BIAS] = {"pooler.dense.bias", h, 1, -1, 0, 0, 0},
        [MTLM_PARAM_BINARY_WEIGHT] = {"binary_head.weight", 2, h, -1, 0, std,
                                      1},
        [MTLM_PARAM_BINARY_BIAS] = {"binary_head.bias", 2, 1, -1, 0, 0, 0},
        [MTLM_PARAM_EMBEDDING_GAMMA] = {"word_embeddings_layernorm.weight", h,
                                        1, -1, 1, 0, 0},
        [MTLM_PARAM_EMBEDDING_BETA] = {"word_embeddings_layernorm.bias", h, 1,
                                       -1, 0, 0, 0},
        [MTLM_PARAM_TASK_WEIGHT] = {task_names[model->head][0],
                                    task_rows(model), h, -1, 0, std, 1},
        [MTLM_PARAM_TASK_BIAS] = {task_names[model->head][1], task_rows(model),
                                  1, -1, 0, 0, 0},
    };

    assert(param >= 0 && param < MTLM_PARAM_COUNT);
    return table[param];
}

enum mtlm_place mtlm_param_place(const struct mtlm_model *model,
                                 enum mtlm_param param)
{
    const bool bert = model->family == MTLM_BERT;
    const enum mtlm_head_kind head = model->head;
    bool has = bert;

    if (param < MTLM_PARAM_PER_LAYER)
        return MTLM_PLACE_LAYER;
    switch (param) {
    case MTLM_PARAM_WORD:
        return MTLM_PLACE_FIRST;
    case MTLM_PARAM_POSITION:
        return model->positions == MTLM_POSITIONS_LEARNED ? MTLM_PLACE_FIRST
                                                          : MTLM_PLACE_NONE;
    case MTLM_PARAM_EMBEDDING_GAMMA:
    case MTLM_PARAM_EMBEDDING_BETA:
        return model->embedding_layernorm ? MTLM_PLACE_FIRST : MTLM_PLACE_NONE;
    case MTLM_PARAM_TOKEN_TYPE:
        return bert ? MTLM_PLACE_FIRST : MTLM_PLACE_NONE;
    case MTLM_PARAM_FINAL_GAMMA:
    case MTLM_PARAM_FINAL_BETA:
        return MTLM_PLACE_LAST;
    case MTLM_PARAM_POOLER_WEIGHT:
    case MTLM_PARAM_POOLER_BIAS:
        has &= head == MTLM_HEAD_PRETRAINING ? model->binary_head
                                             : head != MTLM_HEAD_SPAN;
        break;
    case MTLM_PARAM_BINARY_WEIGHT:
    case MTLM_PARAM_BINARY_BIAS:
        has &= head == MTLM_HEAD_PRETRAINING && model->binary_head;
        break;
    case MTLM_PARAM_TASK_WEIGHT:
    case MTLM_PARAM_TASK_BIAS:
        has &= head != MTLM_HEAD_PRETRAINING;
        break;
    default: /* the masked-LM head */
        has &= head == MTLM_HEAD_PRETRAINING;
    }
    return has ? MTLM_PLACE_LAST : MTLM_PLACE_NONE;
}

int64_t mtlm_param_number(const struct mtlm_model *model, enum mtlm_param param,
                          int64_t layer)
{
    const int64_t layers = MTLM_PARAM_PER_LAYER * model->num_layers;

    if (param >= MTLM_PARAM_PER_LAYER)
        return layers + param - MTLM_PARAM_PER_LAYER;
    return MTLM_PARAM_PER_LAYER * layer + param;
}

int64_t mtlm_param_numbers(const struct mtlm_model *model)
{
    int count = MTLM_PARAM_COUNT; /* up to the last parameter of the model */

    while (mtlm_param_place(model, count - 1) == MTLM_PLACE_NONE)
        count--;
    return MTLM_PARAM_PER_LAYER * model->num_layers + count
           - MTLM_PARAM_PER_LAYER;
}
