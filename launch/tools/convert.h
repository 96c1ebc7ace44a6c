#ifndef MTLM_CONVERT_H
#define MTLM_CONVERT_H

#include <stdint.h>

#include "models/model.h"
#include "runtime/base/error.h"

/* What mtlm-convert is about. */
struct mtlm_conversion {
    const char *input, *output; /* output: a directory that is new or empty */
    int64_t bytes, all_bytes;   /* of tensors: done, to do */
    int64_t started_ns, told_ns;
    int64_t tensors; /* written */
};

/* From Hugging Face's files or llm.c's to a checkpoint of iteration 0; from the
 * newest whole checkpoint, or the one that input itself is, to Hugging Face's.
 * What is there stays until its replacement is committed, what failed leaves
 * nothing behind.  Both say on stdout what there is then. */
int mtlm_convert_import(struct mtlm_conversion *conversion,
                        struct mtlm_error *err);
int mtlm_convert_export(struct mtlm_conversion *conversion,
                        struct mtlm_error *err);

/* One more tensor was written; a line on stderr every two seconds. */
void mtlm_convert_progress(struct mtlm_conversion *conversion, int64_t bytes);

/* "layers.3.mlp.dense_h_to_4h.weight": the name in a checkpoint. */
char *mtlm_convert_name(const struct mtlm_model *model, enum mtlm_param param,
                        int64_t layer);

/* Parameters of the model in the order of the checkpoint: the next one after
 * *param, *layer (begin with -1); whether there is one. */
bool mtlm_convert_next(const struct mtlm_model *model, int *param,
                       int64_t *layer);

#endif /* MTLM_CONVERT_H */
