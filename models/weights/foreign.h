#ifndef MTLM_FOREIGN_H
#define MTLM_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "models/model.h"
#include "models/weights/safetensors.h"

/* Weights of a GPT-2 or a MegatronBert as other programs keep them, by Hugging
 * Face's names of their tensors.  Theirs differ from ours in this:
 *
 *   QKV rows    [q, k, v][head][h / a], ours [head][q, k, v][h / a]; of a
 *               MegatronBert q, k and v are tensors of their own
 *   matrices    of a GPT-2's layers are [in, out], ours [out, in]; llm.c's are
 *               as ours
 *   output      may be there once more, though it is the word embedding
 *
 * Sources: huggingface/transformers, modeling_gpt2.py and
 * modeling_megatron_bert.py; karpathy/llm.c, train_gpt2.c. */

/* Hugging Face's name of a parameter, a format for the number of the layer; of
 * q, k and v three. */
struct mtlm_foreign_name {
    const char *part[3]; /* NULL from the first that there is not */
    bool conv1d;         /* [in, out] */
};

/* NULL: neither of them has such a parameter. */
const struct mtlm_foreign_name *mtlm_foreign_name(
    const struct mtlm_model *model, enum mtlm_param param);

/* Weights that were opened; all tensors lie in mapped files. */
struct mtlm_foreign {
    char *path;
    struct mtlm_model model; /* vocabulary without padding */
    bool linear;             /* no matrix is [in, out] */
    const char *prefix;      /* of their names, which the file's lack */
    struct mtlm_safetensors_tensor *tensor; /* by name */
    int64_t tensors;
    struct mtlm_safetensors **file; /* of Hugging Face */
    int files;
    struct mtlm_llmc *llmc; /* or that */
};

/* A directory of Hugging Face's (models/weights/huggingface.h) or a file of
 * llm.c's (models/weights/llmc.h).  MTLM_EXIT_INPUT when it is neither,
 * damaged, of an architecture that this program has not, or lacks a tensor. */
int mtlm_foreign_open(struct mtlm_foreign *foreign, const char *path,
                      struct mtlm_error *err);
void mtlm_foreign_close(struct mtlm_foreign *foreign);

/* The i-th part's tensor of a parameter, NULL: there is none. */
const struct mtlm_safetensors_tensor *mtlm_foreign_find(
    const struct mtlm_foreign *foreign, enum mtlm_param param, int64_t layer,
    int part);

/* Its name, with the prefix, which the caller frees; its shape, [dim[0]] when
 * dim[1] is 1. */
char *mtlm_foreign_part_name(const struct mtlm_foreign_name *name,
                             int64_t layer, int part);
void mtlm_foreign_part_shape(const struct mtlm_model *model,
                             enum mtlm_param param, bool linear,
                             int64_t dim[2]);

/* Reads a parameter [rows, cols] as ours. */
void mtlm_foreign_read(const struct mtlm_foreign *foreign,
                       enum mtlm_param param, int64_t layer, float *ours);

/* Of a parameter of ours, that part as theirs. */
void mtlm_foreign_part(const struct mtlm_model *model, enum mtlm_param param,
                       int part, const float *ours, float *theirs);

/* Whether there can be such a model.  MTLM_EXIT_INPUT, with the path. */
int mtlm_foreign_check_model(const struct mtlm_model *model, const char *path,
                             struct mtlm_error *err);

/* Tensors of the file that no parameter takes; the first one's name, or
 * NULL.  Masks and second copies do not count. */
int64_t mtlm_foreign_unused(const struct mtlm_foreign *foreign,
                            const char **first);

#endif /* MTLM_FOREIGN_H */
