#ifndef MTLM_FOREIGN_TENSORS_H
#define MTLM_FOREIGN_TENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "models/model.h"
#include "models/weights/ends.h"
#include "models/weights/foreign_names.h"
#include "models/weights/safetensors.h"

/* Opened foreign weights (models/weights/foreign.h).  All tensors lie in mapped
 * files. */
struct mtlm_foreign {
    char *path;
    struct mtlm_model model; /* vocabulary without padding */
    struct mtlm_ends ends;   /* of a GPT of Hugging Face */
    bool linear;             /* all matrices are [out, in] */
    const char *prefix; /* of Hugging Face's names, absent from the file's */
    struct mtlm_safetensors_tensor *tensor; /* [tensors] sorted by name */
    int64_t tensors;
    struct mtlm_safetensors **file; /* [files] of Hugging Face */
    int files;
    struct mtlm_llmc *llmc; /* of llm.c; NULL: Hugging Face's */
};

/* Sorts the tensors by name.  MTLM_EXIT_INPUT: two have the same name. */
int mtlm_foreign_sort(struct mtlm_foreign *foreign, struct mtlm_error *err);

/* Returns the tensor of that name; NULL: there is none. */
const struct mtlm_safetensors_tensor *mtlm_foreign_find_name(
    const struct mtlm_foreign *foreign, const char *name);

/* Returns the tensor of a parameter's part; NULL: there is none. */
const struct mtlm_safetensors_tensor *mtlm_foreign_find(
    const struct mtlm_foreign *foreign, enum mtlm_param param, int64_t layer,
    int part);

/* Writes the shape of a parameter's part; dim[1] = 1: a vector [dim[0]]. */
void mtlm_foreign_part_shape(const struct mtlm_model *model,
                             enum mtlm_param param, bool linear,
                             int64_t dim[2]);

/* Checks a model that was read from path (mtlm_model_check()).
 * MTLM_EXIT_INPUT, with the path. */
int mtlm_foreign_check_model(const struct mtlm_model *model, const char *path,
                             struct mtlm_error *err);

/* Returns how many tensors no parameter takes, without those of
 * mtlm_foreign_name_is_extra().  *first: the name of one, or NULL. */
int64_t mtlm_foreign_unused(const struct mtlm_foreign *foreign,
                            const char **first);

#endif /* MTLM_FOREIGN_TENSORS_H */
