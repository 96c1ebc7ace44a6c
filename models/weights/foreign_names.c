/* Hugging Face's names of the tensors of a GPT-2, a BLOOM and a
 * MegatronBert. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/weights/foreign_names.h"
#include "runtime/base/memory.h"

#define GPT2 "transformer."
#define GPT2_LAYER GPT2 "h.%" PRId64 "."
#define BLOOM_SELF GPT2_LAYER "self_attention."
#define BERT_EMBEDDINGS "bert.embeddings."
#define BERT_LAYER "bert.encoder.layer.%" PRId64 "."
#define BERT_SELF BERT_LAYER "attention.self."
#define BERT_HEAD "cls.predictions."

static const struct mtlm_foreign_name gpt2[MTLM_PARAM_COUNT] = {
    [MTLM_PARAM_LN1_GAMMA] = {{GPT2_LAYER "ln_1.weight"}, false},
    [MTLM_PARAM_LN1_BETA] = {{GPT2_LAYER "ln_1.bias"}, false},
    [MTLM_PARAM_QKV_WEIGHT] = {{GPT2_LAYER "attn.c_attn.weight"}, true},
    [MTLM_PARAM_QKV_BIAS] = {{GPT2_LAYER "attn.c_attn.bias"}, false},
    [MTLM_PARAM_PROJ_WEIGHT] = {{GPT2_LAYER "attn.c_proj.weight"}, true},
    [MTLM_PARAM_PROJ_BIAS] = {{GPT2_LAYER "attn.c_proj.bias"}, false},
    [MTLM_PARAM_LN2_GAMMA] = {{GPT2_LAYER "ln_2.weight"}, false},
    [MTLM_PARAM_LN2_BETA] = {{GPT2_LAYER "ln_2.bias"}, false},
    [MTLM_PARAM_FC1_WEIGHT] = {{GPT2_LAYER "mlp.c_fc.weight"}, true},
    [MTLM_PARAM_FC1_BIAS] = {{GPT2_LAYER "mlp.c_fc.bias"}, false},
    [MTLM_PARAM_FC2_WEIGHT] = {{GPT2_LAYER "mlp.c_proj.weight"}, true},
    [MTLM_PARAM_FC2_BIAS] = {{GPT2_LAYER "mlp.c_proj.bias"}, false},
    [MTLM_PARAM_WORD] = {{GPT2 "wte.weight"}, false},
    [MTLM_PARAM_POSITION] = {{GPT2 "wpe.weight"}, false},
    [MTLM_PARAM_FINAL_GAMMA] = {{GPT2 "ln_f.weight"}, false},
    [MTLM_PARAM_FINAL_BETA] = {{GPT2 "ln_f.bias"}, false},
};

static const struct mtlm_foreign_name bloom[MTLM_PARAM_COUNT] = {
    [MTLM_PARAM_LN1_GAMMA] = {{GPT2_LAYER "input_layernorm.weight"}, false},
    [MTLM_PARAM_LN1_BETA] = {{GPT2_LAYER "input_layernorm.bias"}, false},
    [MTLM_PARAM_QKV_WEIGHT] = {{BLOOM_SELF "query_key_value.weight"}, false},
    [MTLM_PARAM_QKV_BIAS] = {{BLOOM_SELF "query_key_value.bias"}, false},
    [MTLM_PARAM_PROJ_WEIGHT] = {{BLOOM_SELF "dense.weight"}, false},
    [MTLM_PARAM_PROJ_BIAS] = {{BLOOM_SELF "dense.bias"}, false},
    [MTLM_PARAM_LN2_GAMMA] = {{GPT2_LAYER "post_attention_layernorm.weight"},
                              false},
    [MTLM_PARAM_LN2_BETA] = {{GPT2_LAYER "post_attention_layernorm.bias"},
                             false},
    [MTLM_PARAM_FC1_WEIGHT] = {{GPT2_LAYER "mlp.dense_h_to_4h.weight"}, false},
    [MTLM_PARAM_FC1_BIAS] = {{GPT2_LAYER "mlp.dense_h_to_4h.bias"}, false},
    [MTLM_PARAM_FC2_WEIGHT] = {{GPT2_LAYER "mlp.dense_4h_to_h.weight"}, false},
    [MTLM_PARAM_FC2_BIAS] = {{GPT2_LAYER "mlp.dense_4h_to_h.bias"}, false},
    [MTLM_PARAM_WORD] = {{GPT2 "word_embeddings.weight"}, false},
    [MTLM_PARAM_EMBEDDING_GAMMA] = {{GPT2 "word_embeddings_layernorm.weight"},
                                    false},
    [MTLM_PARAM_EMBEDDING_BETA] = {{GPT2 "word_embeddings_layernorm.bias"},
                                   false},
    [MTLM_PARAM_FINAL_GAMMA] = {{GPT2 "ln_f.weight"}, false},
    [MTLM_PARAM_FINAL_BETA] = {{GPT2 "ln_f.bias"}, false},
};

static const struct mtlm_foreign_name bert[MTLM_PARAM_COUNT] = {
    [MTLM_PARAM_LN1_GAMMA] = {{BERT_LAYER "attention.ln.weight"}, false},
    [MTLM_PARAM_LN1_BETA] = {{BERT_LAYER "attention.ln.bias"}, false},
    [MTLM_PARAM_QKV_WEIGHT] = {{BERT_SELF "query.weight",
                                BERT_SELF "key.weight",
                                BERT_SELF "value.weight"},
                               false},
    [MTLM_PARAM_QKV_BIAS] = {{BERT_SELF "query.bias", BERT_SELF "key.bias",
                              BERT_SELF "value.bias"},
                             false},
    [MTLM_PARAM_PROJ_WEIGHT] = {{BERT_LAYER "attention.output.dense.weight"},
                                false},
    [MTLM_PARAM_PROJ_BIAS] = {{BERT_LAYER "attention.output.dense.bias"},
                              false},
    [MTLM_PARAM_LN2_GAMMA] = {{BERT_LAYER "ln.weight"}, false},
    [MTLM_PARAM_LN2_BETA] = {{BERT_LAYER "ln.bias"}, false},
    [MTLM_PARAM_FC1_WEIGHT] = {{BERT_LAYER "intermediate.dense.weight"}, false},
    [MTLM_PARAM_FC1_BIAS] = {{BERT_LAYER "intermediate.dense.bias"}, false},
    [MTLM_PARAM_FC2_WEIGHT] = {{BERT_LAYER "output.dense.weight"}, false},
    [MTLM_PARAM_FC2_BIAS] = {{BERT_LAYER "output.dense.bias"}, false},
    [MTLM_PARAM_WORD] = {{BERT_EMBEDDINGS "word_embeddings.weight"}, false},
    [MTLM_PARAM_POSITION] = {{BERT_EMBEDDINGS "position_embeddings.weight"},
                             false},
    [MTLM_PARAM_TOKEN_TYPE] = {{BERT_EMBEDDINGS "token_type_embeddings.weight"},
                               false},
    [MTLM_PARAM_FINAL_GAMMA] = {{"bert.encoder.ln.weight"}, false},
    [MTLM_PARAM_FINAL_BETA] = {{"bert.encoder.ln.bias"}, false},
    [MTLM_PARAM_LM_DENSE_WEIGHT] = {{BERT_HEAD "transform.dense.weight"},
                                    false},
    [MTLM_PARAM_LM_DENSE_BIAS] = {{BERT_HEAD "transform.dense.bias"}, false},
    [MTLM_PARAM_LM_NORM_GAMMA] = {{BERT_HEAD "transform.LayerNorm.weight"},
                                  false},
    [MTLM_PARAM_LM_NORM_BETA] = {{BERT_HEAD "transform.LayerNorm.bias"}, false},
    [MTLM_PARAM_LM_BIAS] = {{BERT_HEAD "bias"}, false},
    [MTLM_PARAM_POOLER_WEIGHT] = {{"bert.pooler.dense.weight"}, false},
    [MTLM_PARAM_POOLER_BIAS] = {{"bert.pooler.dense.bias"}, false},
    [MTLM_PARAM_BINARY_WEIGHT] = {{"cls.seq_relationship.weight"}, false},
    [MTLM_PARAM_BINARY_BIAS] = {{"cls.seq_relationship.bias"}, false},
    [MTLM_PARAM_TASK_WEIGHT] = {{"classifier.weight"}, false},
    [MTLM_PARAM_TASK_BIAS] = {{"classifier.bias"}, false},
};

/* The head of spans: weight and bias. */
static const struct mtlm_foreign_name span[] = {{{"qa_outputs.weight"}, false},
                                                {{"qa_outputs.bias"}, false}};

const struct mtlm_foreign_name *mtlm_foreign_name(
    const struct mtlm_model *model, enum mtlm_param param)
{
    if (mtlm_param_place(model, param) == MTLM_PLACE_NONE)
        return NULL;
    if (model->head == MTLM_HEAD_SPAN
        && (param == MTLM_PARAM_TASK_WEIGHT || param == MTLM_PARAM_TASK_BIAS))
        return &span[param - MTLM_PARAM_TASK_WEIGHT];
    if (model->family == MTLM_BERT)
        return &bert[param];
    return model->positions == MTLM_POSITIONS_ALIBI ? &bloom[param]
                                                    : &gpt2[param];
}

char *mtlm_foreign_name_part(const struct mtlm_foreign_name *name,
                             int64_t layer, int part)
{
    const char *format = name->part[part], *hole = strstr(format, "%" PRId64);

    return hole ? mtlm_sprintf("%.*s%" PRId64 "%s", (int) (hole - format),
                               format, layer, hole + strlen("%" PRId64))
                : mtlm_strdup(format);
}

bool mtlm_foreign_name_is_extra(const char *name)
{
    static const char *const ends[] = {
        ".attn.bias",     ".attn.masked_bias",        ".position_ids",
        "lm_head.weight", BERT_HEAD "decoder.weight", BERT_HEAD "decoder.bias"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const size_t n = strlen(name), end = strlen(ends[i]);

        if (n >= end && strcmp(name + n - end, ends[i]) == 0)
            return true;
    }
    return false;
}
