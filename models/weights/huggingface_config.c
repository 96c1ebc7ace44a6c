/* Converts between our models and Hugging Face's config.json. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/weights/huggingface.h"
#include "runtime/file/json_file.h"

/* Sources: configuration_gpt2.py, configuration_megatron_bert.py and
 * configuration_bloom.py of huggingface/transformers; our defaults are
 * theirs. */

/* A limit against overflows before the model is checked. */
enum { MOST = 1 << 30 };

/* As --layernorm-epsilon has them. */
#define LEAST_EPSILON 1e-12
#define MOST_EPSILON 0.1

struct config_reader {
    const char *path;
    const json_t *config;
    struct mtlm_error *err;
    int rc;
};

static const json_t *get(const struct config_reader *r, const char *key)
{
    const json_t *value = json_object_get(r->config, key);

    return json_is_null(value) ? NULL : value;
}

static int64_t get_size(struct config_reader *r, const char *key,
                        int64_t fallback)
{
    const json_t *value = get(r, key);

    if (!value || r->rc < 0)
        return fallback;
    if (json_is_integer(value) && json_integer_value(value) > 0
        && json_integer_value(value) <= MOST)
        return json_integer_value(value);
    r->rc = mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                           "%s: %s: expected a number from 1 to %d", r->path,
                           key, MOST);
    return fallback;
}

/* Returns the number under a second name of the key, if there, else under the
 * key. */
static int64_t get_renamed(struct config_reader *r, const char *second,
                           const char *key, int64_t fallback)
{
    return get_size(r, get(r, second) ? second : key, fallback);
}

static double get_epsilon(struct config_reader *r, const char *key,
                          double fallback)
{
    const json_t *value = get(r, key);

    if (!value || r->rc < 0)
        return fallback;
    if (json_is_number(value) && json_number_value(value) >= LEAST_EPSILON
        && json_number_value(value) <= MOST_EPSILON)
        return json_number_value(value);
    r->rc = mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                           "%s: %s: expected a number from %g to %g", r->path,
                           key, LEAST_EPSILON, MOST_EPSILON);
    return fallback;
}

/* Refuses a key whose value is `is`, or no boolean: our models have the
 * opposite. */
static void refuse_key(struct config_reader *r, const char *key, bool is)
{
    const json_t *value = get(r, key);
    char *text;

    if (r->rc < 0 || !value
        || (is ? json_is_false(value) : json_is_true(value)))
        return;
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    r->rc = mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                           "%s: %s: expected %s, as in every model of this "
                           "program, found %.40s",
                           r->path, key, is ? "false" : "true",
                           text ? text : "another value");
    free(text);
}

/* Their names of GELU: activations.py there. */
static const struct {
    const char *name;
    bool exact;
} gelus[] = {
    {"gelu", true},           {"gelu_python", true},       {"gelu_new", false},
    {"gelu_fast", false}, /* Megatron's converter writes this */
    {"gelu_accurate", false}, {"gelu_pytorch_tanh", false}};

/* Whether GELU is exact. */
static bool get_gelu(struct config_reader *r, const char *key,
                     const char *fallback)
{
    const json_t *value = get(r, key);
    const char *text = value ? json_string_value(value) : fallback;

    for (size_t i = 0; text && i < sizeof(gelus) / sizeof(gelus[0]); i++)
        if (strcmp(text, gelus[i].name) == 0)
            return gelus[i].exact;
    if (r->rc == 0)
        r->rc = mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                               "%s: %s: expected gelu, gelu_new or another "
                               "name of these two, found %s",
                               r->path, key, text ? text : "another type");
    return false;
}

static void read_gpt2(struct config_reader *r, struct mtlm_model *model)
{
    *model = (struct mtlm_model){
        .family = MTLM_GPT,
        .num_layers = get_size(r, "n_layer", 12),
        .hidden_size = get_size(r, "n_embd", 768),
        .num_heads = get_size(r, "n_head", 12),
        .max_positions = get_size(r, "n_positions", 1024),
        .vocab_size = get_size(r, "vocab_size", 50257),
        .exact_gelu = get_gelu(r, "activation_function", "gelu_new"),
        .layernorm_epsilon = get_epsilon(r, "layer_norm_epsilon", 1e-5)};
    model->ffn_hidden_size = get_size(r, "n_inner", 4 * model->hidden_size);
    refuse_key(r, "scale_attn_weights", false);
    refuse_key(r, "scale_attn_by_inverse_layer_idx", true);
    refuse_key(r, "add_cross_attention", true);
    refuse_key(r, "tie_word_embeddings", false);
}

static void read_bert(struct config_reader *r, struct mtlm_model *model)
{
    const json_t *positions = get(r, "position_embedding_type");

    *model = (struct mtlm_model){
        .family = MTLM_BERT,
        .num_layers = get_size(r, "num_hidden_layers", 24),
        .hidden_size = get_size(r, "hidden_size", 1024),
        .num_heads = get_size(r, "num_attention_heads", 16),
        .ffn_hidden_size = get_size(r, "intermediate_size", 4096),
        .max_positions = get_size(r, "max_position_embeddings", 512),
        .vocab_size = get_size(r, "vocab_size", 29056),
        .num_token_types = 2,
        .exact_gelu = get_gelu(r, "hidden_act", "gelu"),
        .layernorm_epsilon = get_epsilon(r, "layer_norm_eps", 1e-12)};
    model->tanh_head = !model->exact_gelu;
    refuse_key(r, "is_decoder", true);
    refuse_key(r, "add_cross_attention", true);
    refuse_key(r, "tie_word_embeddings", false);
    if (r->rc == 0 && positions
        && (!json_is_string(positions)
            || strcmp(json_string_value(positions), "absolute") != 0))
        r->rc = mtlm_error_set(r->err, MTLM_EXIT_INPUT,
                               "%s: position_embedding_type: expected "
                               "absolute, found another",
                               r->path);
}

/* The published files have n_embed, num_attention_heads and seq_length, which
 * transformers write as hidden_size and n_head, and not at all. */
static void read_bloom(struct config_reader *r, struct mtlm_model *model)
{
    *model = (struct mtlm_model){
        .family = MTLM_GPT,
        .num_layers = get_renamed(r, "num_hidden_layers", "n_layer", 2),
        .hidden_size = get_renamed(r, "n_embed", "hidden_size", 64),
        .num_heads = get_renamed(r, "num_attention_heads", "n_head", 8),
        .positions = MTLM_POSITIONS_ALIBI,
        .max_positions = get_size(r, "seq_length", 2048),
        .vocab_size = get_size(r, "vocab_size", 250880),
        .post_layernorm =
            json_is_true(get(r, "apply_residual_connection_post_layernorm")),
        .embedding_layernorm = true,
        .layernorm_epsilon = get_epsilon(r, "layer_norm_epsilon", 1e-5)};
    model->ffn_hidden_size = 4 * model->hidden_size;
    refuse_key(r, "tie_word_embeddings", false);
}

int mtlm_huggingface_read_config(const char *path, struct mtlm_model *model,
                                 struct mtlm_ends *ends, struct mtlm_error *err)
{
    json_t *config = mtlm_json_file_read(path, err);
    struct config_reader r = {.path = path, .config = config, .err = err};
    const char *type = mtlm_json_file_text(config, "model_type");

    if (!config)
        return -1;
    if (type && strcmp(type, "gpt2") == 0)
        read_gpt2(&r, model);
    else if (type && strcmp(type, "megatron-bert") == 0)
        read_bert(&r, model);
    else if (type && strcmp(type, "bloom") == 0)
        read_bloom(&r, model);
    else
        r.rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: model_type: expected gpt2, megatron-bert or "
                              "bloom, found %s",
                              path, type ? type : "none");
    model->vocab_multiple = 1;
    model->seq_length = model->max_positions;
    if (r.rc == 0 && model->family == MTLM_GPT)
        r.rc = mtlm_ends_read(ends, config, model->vocab_size, path, err);
    json_decref(config);
    return r.rc;
}

static json_t *gpt2_config(const struct mtlm_model *m)
{
    return json_pack(
        "{s:s,s:[s],s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:f}", "model_type", "gpt2",
        "architectures", "GPT2LMHeadModel", "n_layer",
        (json_int_t) m->num_layers, "n_embd", (json_int_t) m->hidden_size,
        "n_head", (json_int_t) m->num_heads, "n_inner",
        (json_int_t) m->ffn_hidden_size, "n_positions",
        (json_int_t) m->max_positions, "vocab_size", (json_int_t) m->vocab_size,
        "activation_function", m->exact_gelu ? "gelu" : "gelu_new",
        "layer_norm_epsilon", m->layernorm_epsilon);
}

/* Returns the class of a BERT with its head. */
static const char *bert_class(const struct mtlm_model *m)
{
    switch (m->head) {
    case MTLM_HEAD_CLASSIFICATION:
        return "MegatronBertForSequenceClassification";
    case MTLM_HEAD_CHOICE:
        return "MegatronBertForMultipleChoice";
    case MTLM_HEAD_SPAN:
        return "MegatronBertForQuestionAnswering";
    default:
        return m->binary_head ? "MegatronBertForPreTraining"
                              : "MegatronBertForMaskedLM";
    }
}

static json_t *bert_config(const struct mtlm_model *m)
{
    return json_pack(
        "{s:s,s:[s],s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:f}", "model_type",
        "megatron-bert", "architectures", bert_class(m), "num_hidden_layers",
        (json_int_t) m->num_layers, "hidden_size", (json_int_t) m->hidden_size,
        "num_attention_heads", (json_int_t) m->num_heads, "intermediate_size",
        (json_int_t) m->ffn_hidden_size, "max_position_embeddings",
        (json_int_t) m->max_positions, "vocab_size", (json_int_t) m->vocab_size,
        "type_vocab_size", (json_int_t) m->num_token_types, "hidden_act",
        m->exact_gelu ? "gelu" : "gelu_new", "layer_norm_eps",
        m->layernorm_epsilon);
}

static json_t *bloom_config(const struct mtlm_model *m)
{
    return json_pack(
        "{s:s,s:[s],s:I,s:I,s:I,s:I,s:I,s:b,s:f,s:f,s:f}", "model_type",
        "bloom", "architectures", "BloomForCausalLM", "n_layer",
        (json_int_t) m->num_layers, "hidden_size", (json_int_t) m->hidden_size,
        "n_head", (json_int_t) m->num_heads, "seq_length",
        (json_int_t) m->max_positions, "vocab_size", (json_int_t) m->vocab_size,
        "apply_residual_connection_post_layernorm", m->post_layernorm,
        "layer_norm_epsilon", m->layernorm_epsilon, "hidden_dropout", 0.0,
        "attention_dropout", 0.0);
}

/* Returns what a model has that no model of Hugging Face has; NULL: nothing. */
static const char *unknown_there(const struct mtlm_model *m)
{
    const bool alibi = m->positions == MTLM_POSITIONS_ALIBI;

    if (m->post_layernorm && !alibi)
        return "--apply-residual-connection-post-layernorm";
    if (m->embedding_layernorm && !alibi)
        return "--embed-layernorm and a learned position embedding";
    if (alibi && !m->embedding_layernorm)
        return "--position-embedding-type alibi without --embed-layernorm";
    if (alibi && m->exact_gelu)
        return "--position-embedding-type alibi and --no-bias-gelu-fusion";
    if (alibi && m->ffn_hidden_size != 4 * m->hidden_size)
        return "--position-embedding-type alibi and another "
               "--ffn-hidden-size than 4 x --hidden-size";
    return NULL;
}

json_t *mtlm_huggingface_config(const struct mtlm_model *model,
                                struct mtlm_error *err)
{
    const char *unknown = unknown_there(model);
    json_t *config;

    if (unknown) {
        mtlm_error_set(err, MTLM_EXIT_USAGE,
                       "Hugging Face has no model with %s", unknown);
        return NULL;
    }
    config = model->family == MTLM_BERT                 ? bert_config(model)
             : model->positions == MTLM_POSITIONS_ALIBI ? bloom_config(model)
                                                        : gpt2_config(model);
    json_object_set_new(config, "torch_dtype", json_string("float32"));
    json_object_set_new(config, "tie_word_embeddings", json_true());
    return config;
}
