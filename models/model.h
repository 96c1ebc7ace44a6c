#ifndef MTLM_MODEL_H
#define MTLM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* Families of models, in the order of --model-type. */
enum mtlm_family { MTLM_GPT, MTLM_BERT };

/* How tokens know their positions, in the order of --position-embedding-type.
 * LEARNED: a learned vector per position, added to the word embedding.  ALIBI:
 * attention scores fall linearly with the distance, each head at a rate of its
 * own (codelets/attention/alibi.h; arXiv 2108.12409). */
enum mtlm_positions { MTLM_POSITIONS_LEARNED, MTLM_POSITIONS_ALIBI };

/* What follows the last layer.  The heads of fine-tuning tasks need a BERT. */
enum mtlm_head_kind {
    /* The output layer; with a BERT's masked-LM head and maybe its binary
     * head. */
    MTLM_HEAD_PRETRAINING,
    /* Logits of the classes, from the pooled first token. */
    MTLM_HEAD_CLASSIFICATION,
    /* A score from the pooled first token.  The samples of a question, one for
     * each choice, follow each other. */
    MTLM_HEAD_CHOICE,
    /* Two logits of each token: the answer begins here, or ends here. */
    MTLM_HEAD_SPAN
};

/* A GPT or a BERT, independent of any layout.  Sizes have Megatron's names. */
struct mtlm_model {
    enum mtlm_family family;
    int64_t num_layers;      /* l */
    int64_t hidden_size;     /* h */
    int64_t num_heads;       /* a; divides h */
    int64_t ffn_hidden_size; /* f */
    int64_t seq_length;      /* s: tokens per sample */
    enum mtlm_positions positions;
    int64_t max_positions;   /* the most positions of a sample, >= s; LEARNED:
                              * rows of the position embedding */
    int64_t vocab_size;      /* v: tokens of the vocabulary */
    int64_t vocab_multiple;  /* embedding rows are a multiple of this x t */
    int64_t num_token_types; /* BERT: 2, sentences A and B; GPT: 0 */
    /* The residual is layernorm's output instead of its input: the original
     * BERT, in Megatron's arrangement with a final layernorm. */
    bool post_layernorm;
    bool embedding_layernorm; /* GPT: layernorm after the word embedding */
    enum mtlm_head_kind head;
    int64_t classes;  /* of a classification; choices of a question */
    bool binary_head; /* pretraining: predicts whether A and B are swapped */
    /* Attention scores are divided by the layer's number (from 1), and
     * multiplied by the number inside the softmax. */
    bool query_key_scaling;
    bool exact_gelu; /* GELU by erf; false: approximated by tanh */
    bool tanh_head;  /* BERT: the masked-LM head uses the tanh GELU; false:
                      * the exact one, independent of exact_gelu */
    double layernorm_epsilon;
    double hidden_dropout, attention_dropout;
    double init_std;
};

/* Returns "GPT" or "BERT". */
const char *mtlm_model_family_name(enum mtlm_family family);

/* Returns how many consecutive samples are one question: the choices, or 1. */
int64_t mtlm_model_choices(const struct mtlm_model *model);

/* Returns the rows of the word embedding under t-way tensor parallelism:
 * vocab_size padded to a multiple of vocab_multiple x t. */
int64_t mtlm_model_padded_vocab(const struct mtlm_model *model, int t);

/* Returns the number of parameters without padding of the vocabulary; the tied
 * output layer counts once. */
double mtlm_model_parameters(const struct mtlm_model *model);

/* Returns the number of parameters with the vocabulary padded for t-way tensor
 * parallelism, as Megatron-LM counts them. */
double mtlm_model_padded_parameters(const struct mtlm_model *model, int t);

/* Returns the FLOPs of forward and backward passes over B = batch samples: 6 B
 * s h (l (4h + 2f + 2s) + V), f: ffn_hidden_size.  With f = 4h that is 72 B s l
 * h^2 (1 + s / 6h + V / 12lh): arXiv 2205.05198, equation 7.  A BERT has 6 B s
 * h^2 more, for the dense layer before its output layer.  The head of a task
 * counts nothing. */
double mtlm_model_flops(const struct mtlm_model *model, int64_t batch);

/* Refuses impossible models: heads that do not divide the hidden size, sizes
 * beyond addressable memory, fewer positions than tokens, a BERT with ALiBi or
 * with a layernorm after the word embedding.  -1 with err. */
int mtlm_model_check(const struct mtlm_model *model, struct mtlm_error *err);

/* Parameters.  The order is the parameter's number, which keys initial values
 * and fixes the order of additions in the gradient norm.  QKV rows are
 * [head][q, k, v][h / a] (Megatron's checkpoint version 2). */
enum mtlm_param {
    /* of a layer */
    MTLM_PARAM_LN1_GAMMA,
    MTLM_PARAM_LN1_BETA,
    MTLM_PARAM_QKV_WEIGHT,
    MTLM_PARAM_QKV_BIAS,
    MTLM_PARAM_PROJ_WEIGHT,
    MTLM_PARAM_PROJ_BIAS,
    MTLM_PARAM_LN2_GAMMA,
    MTLM_PARAM_LN2_BETA,
    MTLM_PARAM_FC1_WEIGHT,
    MTLM_PARAM_FC1_BIAS,
    MTLM_PARAM_FC2_WEIGHT,
    MTLM_PARAM_FC2_BIAS,
    MTLM_PARAM_PER_LAYER,
    /* outside the layers */
    MTLM_PARAM_WORD = MTLM_PARAM_PER_LAYER, /* also the output layer */
    MTLM_PARAM_POSITION,
    MTLM_PARAM_FINAL_GAMMA,
    MTLM_PARAM_FINAL_BETA,
    /* of a BERT */
    MTLM_PARAM_TOKEN_TYPE,
    MTLM_PARAM_LM_DENSE_WEIGHT,
    MTLM_PARAM_LM_DENSE_BIAS,
    MTLM_PARAM_LM_NORM_GAMMA,
    MTLM_PARAM_LM_NORM_BETA,
    MTLM_PARAM_LM_BIAS, /* one for each token */
    /* of its binary head */
    MTLM_PARAM_POOLER_WEIGHT,
    MTLM_PARAM_POOLER_BIAS,
    MTLM_PARAM_BINARY_WEIGHT,
    MTLM_PARAM_BINARY_BIAS,
    /* of a GPT with a layernorm after the word embedding */
    MTLM_PARAM_EMBEDDING_GAMMA,
    MTLM_PARAM_EMBEDDING_BETA,
    /* of the head of a task; the pooler belongs to the head, except a span's */
    MTLM_PARAM_TASK_WEIGHT,
    MTLM_PARAM_TASK_BIAS,
    MTLM_PARAM_COUNT
};

/* The pipeline stage that holds a parameter.  In pretraining, the last stage
 * also holds a copy of the word embedding. */
enum mtlm_place {
    MTLM_PLACE_NONE, /* the model has no such parameter */
    MTLM_PLACE_FIRST,
    MTLM_PLACE_LAYER, /* the stage of its layer */
    MTLM_PLACE_LAST
};

/* Returns the place of a parameter. */
enum mtlm_place mtlm_param_place(const struct mtlm_model *model,
                                 enum mtlm_param param);

/* A parameter, as a whole [rows, cols] and as the shard of a tensor-parallel
 * rank. */
struct mtlm_param_info {
    const char *name;   /* "self_attention.query_key_value.weight" */
    int64_t rows, cols; /* cols 1: a vector [rows] */
    int split;          /* shards: 0 by rows, 1 by columns, -1 replicated */
    double mean, std;   /* of initial values */
    int decay;          /* weight decay applies */
};

/* Returns a parameter under t-way tensor parallelism. */
struct mtlm_param_info mtlm_param_info(const struct mtlm_model *model,
                                       enum mtlm_param param, int t);

/* Returns the number of a parameter in the whole model, 0 ..
 * mtlm_param_numbers() - 1; layer is ignored outside the layers.  Parameters
 * that the model lacks leave gaps. */
int64_t mtlm_param_number(const struct mtlm_model *model, enum mtlm_param param,
                          int64_t layer);

/* Returns the count of numbers, gaps included. */
int64_t mtlm_param_numbers(const struct mtlm_model *model);

#endif /* MTLM_MODEL_H */
