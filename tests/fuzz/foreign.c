/* Other programs' weights of any bytes: what Hugging Face's configuration and
 * index say, and llm.c's files. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "models/weights/foreign.h"
#include "models/weights/huggingface.h"
#include "runtime/base/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

static bool same(const struct mtlm_model *a, const struct mtlm_model *b)
{
    return a->family == b->family && a->num_layers == b->num_layers
           && a->hidden_size == b->hidden_size && a->num_heads == b->num_heads
           && a->ffn_hidden_size == b->ffn_hidden_size
           && a->max_positions == b->max_positions
           && a->vocab_size == b->vocab_size
           && a->num_token_types == b->num_token_types
           && a->exact_gelu == b->exact_gelu && a->positions == b->positions
           && a->embedding_layernorm == b->embedding_layernorm
           && a->post_layernorm == b->post_layernorm
           && a->layernorm_epsilon == b->layernorm_epsilon;
}

/* What can be a model is the same model when it is written and read again. */
void fuzz_huggingface_config(const uint8_t *data, size_t bytes)
{
    struct mtlm_error err = {0};
    struct mtlm_model model, again;
    struct mtlm_ends ends;
    json_t *config;
    char *text;

    memory_file_put(0, "config.json", data, bytes);
    if (mtlm_huggingface_read_config("config.json", &model, &ends, &err) < 0
        || mtlm_foreign_check_model(&model, "config.json", &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    config = mtlm_huggingface_config(&model, &err);
    text = json_dumps(config, JSON_COMPACT);
    memory_file_put(0, "config.json", text, strlen(text));
    if (mtlm_huggingface_read_config("config.json", &again, &ends, &err) < 0
        || !same(&model, &again))
        abort();
    json_decref(config);
    free(text);
}

/* All its parameters, as they are read into a model. */
static void look_at_parameters(const struct mtlm_foreign *foreign)
{
    const struct mtlm_model *model = &foreign->model;
    const char *first;

    for (int p = 0; p < MTLM_PARAM_COUNT; p++) {
        const struct mtlm_param_info info = mtlm_param_info(model, p, 1);
        const size_t bytes = (size_t) (info.rows * info.cols) * sizeof(float);
        const int64_t layers = p < MTLM_PARAM_PER_LAYER ? model->num_layers : 1;
        float *values;

        if (!mtlm_foreign_name(model, p))
            continue;
        values = mtlm_calloc(bytes, 1);
        for (int64_t layer = 0; layer < layers; layer++) {
            mtlm_foreign_read(foreign, p, layer, values);
            fuzz_look(values, bytes);
        }
        free(values);
    }
    if (mtlm_foreign_unused(foreign, &first) > 0)
        fuzz_look_at_text(first);
}

static void open_foreign(const char *path)
{
    struct mtlm_foreign foreign;
    struct mtlm_error err = {0};

    if (mtlm_foreign_open(&foreign, path, &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    look_at_parameters(&foreign);
    mtlm_foreign_close(&foreign);
}

/* ---- the index of several files ---- */

struct file {
    uint8_t *data;
    size_t bytes;
};

/* Adds a tensor of zeros to the header of a file. */
static void add(json_t *header, const struct mtlm_model *model,
                enum mtlm_param param, int64_t *at)
{
    char *name = mtlm_foreign_name_part(mtlm_foreign_name(model, param), 0, 0);
    int64_t dim[2], end;

    mtlm_foreign_part_shape(model, param, false, dim);
    end = *at + dim[0] * dim[1] * (int64_t) sizeof(float);
    json_object_set_new(
        header, name,
        json_pack("{s:s,s:o,s:[I,I]}", "dtype", "F32", "shape",
                  dim[1] == 1 ? json_pack("[I]", (json_int_t) dim[0])
                              : json_pack("[I,I]", (json_int_t) dim[0],
                                          (json_int_t) dim[1]),
                  "data_offsets", (json_int_t) *at, (json_int_t) end));
    *at = end;
    free(name);
}

/* One of two files of a GPT-2: its layers', the others. */
static struct file make_file(const struct mtlm_model *model, bool layers)
{
    json_t *header = json_object();
    int64_t at = 0;
    struct file file;
    uint64_t length;
    char *text;

    for (int p = 0; p < MTLM_PARAM_COUNT; p++)
        if ((p < MTLM_PARAM_PER_LAYER) == layers && mtlm_foreign_name(model, p))
            add(header, model, p, &at);
    text = json_dumps(header, JSON_COMPACT);
    length = strlen(text);
    file.bytes = sizeof(length) + length + (size_t) at;
    file.data = mtlm_calloc(file.bytes, 1);
    memcpy(file.data, &length, sizeof(length));
    memcpy(file.data + sizeof(length), text, length);
    free(text);
    json_decref(header);
    return file;
}

/* Beside the index lie a configuration and two whole files. */
void fuzz_huggingface_index(const uint8_t *data, size_t bytes)
{
    static const char config[] =
        "{\"model_type\":\"gpt2\",\"n_layer\":1,\"n_embd\":2,\"n_head\":1,"
        "\"n_positions\":2,\"n_inner\":3,\"vocab_size\":3}";
    static struct file a, b;
    struct mtlm_model model;
    struct mtlm_ends ends;

    memory_file_put(0, "/config.json", config, sizeof(config) - 1);
    if (!a.data) {
        if (mtlm_huggingface_read_config("x/config.json", &model, &ends, NULL)
            < 0)
            abort();
        a = make_file(&model, true);
        b = make_file(&model, false);
    }
    memory_file_put(1, "/model.safetensors.index.json", data, bytes);
    memory_file_put(2, "/a.safetensors", a.data, a.bytes);
    memory_file_put(3, "/b.safetensors", b.data, b.bytes);
    open_foreign("directory");
}

void fuzz_llmc(const uint8_t *data, size_t bytes)
{
    memory_file_put(0, "model.bin", data, bytes);
    open_foreign("model.bin");
}
