/* Opens model files of llm.c. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/weights/llmc.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

enum {
    HEADER_BYTES = 1024,
    MAGIC = 20240326,
    FP32 = 3,
    BF16 = 5,
};

struct mtlm_llmc {
    struct mtlm_mapped_file file;
    int32_t padded_vocab;
    enum mtlm_safetensors_dtype dtype;
    int64_t at; /* bytes read */
};

/* In the order of the file. */
static const enum mtlm_param order[] = {
    MTLM_PARAM_WORD,        MTLM_PARAM_POSITION,   MTLM_PARAM_LN1_GAMMA,
    MTLM_PARAM_LN1_BETA,    MTLM_PARAM_QKV_WEIGHT, MTLM_PARAM_QKV_BIAS,
    MTLM_PARAM_PROJ_WEIGHT, MTLM_PARAM_PROJ_BIAS,  MTLM_PARAM_LN2_GAMMA,
    MTLM_PARAM_LN2_BETA,    MTLM_PARAM_FC1_WEIGHT, MTLM_PARAM_FC1_BIAS,
    MTLM_PARAM_FC2_WEIGHT,  MTLM_PARAM_FC2_BIAS,   MTLM_PARAM_FINAL_GAMMA,
    MTLM_PARAM_FINAL_BETA};

static int foreign_file(const struct mtlm_foreign *f, struct mtlm_error *err)
{
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: expected a directory of Hugging Face's or of checkpoints, or a "
        "model file of llm.c (magic %d, version %d or %d), found neither; "
        "pickles, such as Megatron-LM's .pt, are programs and are not run: "
        "save as safetensors",
        f->path, MAGIC, FP32, BF16);
}

static int read_header(struct mtlm_foreign *f, struct mtlm_error *err)
{
    struct mtlm_llmc *l = f->llmc;
    int32_t header[8];

    if (l->file.bytes < HEADER_BYTES)
        return foreign_file(f, err);
    memcpy(header, l->file.data, sizeof(header));
    if (header[0] != MAGIC || (header[1] != FP32 && header[1] != BF16))
        return foreign_file(f, err);
    for (int i = 2; i < 8; i++)
        if (header[i] < 1)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: header word %d: expected 1 or more, "
                                  "found %" PRId32,
                                  f->path, i, header[i]);
    f->model = (struct mtlm_model){.family = MTLM_GPT,
                                   .max_positions = header[2],
                                   .seq_length = header[2],
                                   .vocab_size = header[3],
                                   .num_layers = header[4],
                                   .num_heads = header[5],
                                   .hidden_size = header[6],
                                   .ffn_hidden_size = 4 * (int64_t) header[6],
                                   .vocab_multiple = 1,
                                   .layernorm_epsilon = 1e-5};
    l->padded_vocab = header[7];
    l->dtype = header[1] == BF16 ? MTLM_SAFETENSORS_BF16 : MTLM_SAFETENSORS_F32;
    l->at = HEADER_BYTES;
    if (l->padded_vocab < header[3])
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: expected a padded vocabulary of %" PRId32
                              " or more, found %" PRId32,
                              f->path, header[3], l->padded_vocab);
    return mtlm_foreign_check_model(&f->model, f->path, err);
}

/* Returns the bytes of a parameter.  Sizes are at most 2^30: products of two
 * fit. */
static int64_t bytes_of(const struct mtlm_foreign *f, enum mtlm_param param)
{
    const struct mtlm_param_info info = mtlm_param_info(&f->model, param, 1);

    return (param == MTLM_PARAM_WORD ? f->llmc->padded_vocab : info.rows)
           * info.cols * mtlm_safetensors_dtype_bytes(f->llmc->dtype);
}

/* Adds the tensors of a parameter in all layers. */
static void add_param(struct mtlm_foreign *f, enum mtlm_param param)
{
    const struct mtlm_param_info info = mtlm_param_info(&f->model, param, 1);
    const struct mtlm_foreign_name *name = mtlm_foreign_name(&f->model, param);
    const int64_t layers =
        param < MTLM_PARAM_PER_LAYER ? f->model.num_layers : 1;
    struct mtlm_llmc *l = f->llmc;

    for (int64_t i = 0; i < layers; i++) {
        f->tensor[f->tensors++] = (struct mtlm_safetensors_tensor){
            .name = mtlm_foreign_name_part(name, i, 0),
            .dtype = l->dtype,
            .rank = info.cols == 1 ? 1 : 2,
            .dim = {info.rows, info.cols},
            .data = l->file.data + l->at,
            .bytes =
                info.rows * info.cols * mtlm_safetensors_dtype_bytes(l->dtype)};
        l->at += bytes_of(f, param);
    }
}

static int check_size(const struct mtlm_foreign *f, struct mtlm_error *err)
{
    double bytes = HEADER_BYTES;

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        bytes += (double) bytes_of(f, order[i])
                 * (order[i] < MTLM_PARAM_PER_LAYER ? f->model.num_layers : 1);
    if (bytes == (double) f->llmc->file.bytes)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: expected %.0f bytes for the model of its "
                          "header, found %" PRId64,
                          f->path, bytes, f->llmc->file.bytes);
}

int mtlm_llmc_open(struct mtlm_foreign *foreign, struct mtlm_error *err)
{
    struct mtlm_llmc *l = mtlm_calloc(1, sizeof(*l));

    foreign->llmc = l;
    foreign->linear = true;
    if (mtlm_mapped_file_open(&l->file, foreign->path, err) < 0
        || read_header(foreign, err) < 0 || check_size(foreign, err) < 0)
        return -1;
    foreign->tensor =
        mtlm_calloc(MTLM_PARAM_PER_LAYER * foreign->model.num_layers + 4,
                    sizeof(*foreign->tensor));
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        add_param(foreign, order[i]);
    return 0;
}

void mtlm_llmc_close(struct mtlm_foreign *foreign)
{
    if (!foreign->llmc)
        return;
    for (int64_t i = 0; i < foreign->tensors; i++)
        free((char *) foreign->tensor[i].name);
    mtlm_mapped_file_close(&foreign->llmc->file);
    free(foreign->llmc);
    foreign->llmc = NULL;
}
