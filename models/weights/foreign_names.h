#ifndef MTLM_FOREIGN_NAMES_H
#define MTLM_FOREIGN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "models/model.h"

/* Hugging Face's names of a parameter's tensors.  Each is a printf format for
 * the layer's number. */
struct mtlm_foreign_name {
    const char *part[3]; /* 1, or 3 for separate q, k and v; NULL ends them */
    bool conv1d;         /* stored as [in, out] */
};

/* Returns the static entry of a parameter; NULL: the model has no such
 * parameter. */
const struct mtlm_foreign_name *mtlm_foreign_name(
    const struct mtlm_model *model, enum mtlm_param param);

/* Returns the name of one part, with its prefix; the caller frees it. */
char *mtlm_foreign_name_part(const struct mtlm_foreign_name *name,
                             int64_t layer, int part);

/* Whether a tensor of this name carries no parameter of its own: an attention
 * mask, or a second copy of a tied parameter. */
bool mtlm_foreign_name_is_extra(const char *name);

#endif /* MTLM_FOREIGN_NAMES_H */
