#ifndef MTLM_CONVERT_H
#define MTLM_CONVERT_H

/* mtlm-convert: import and export share this header; convert.c has the command
 * line. */

#include <stdint.h>

#include "models/model.h"
#include "runtime/base/error.h"

struct mtlm_conversion {
    const char *input, *output; /* output: a directory that is new or empty */
    int64_t bytes, all_bytes;   /* of tensors: done; in all */
    int64_t started_ns, told_ns;
    int64_t tensors; /* written */
};

/* Import: Hugging Face's or llm.c's files become a checkpoint of iteration 0.
 * Export: input, or its newest whole checkpoint, becomes Hugging Face's files.
 * Both print the result on stdout.  -1: nothing new is left behind. */
int mtlm_convert_import(struct mtlm_conversion *conversion,
                        struct mtlm_error *err);
int mtlm_convert_export(struct mtlm_conversion *conversion,
                        struct mtlm_error *err);

/* Counts the bytes of a written tensor; prints progress on stderr every 2 s. */
void mtlm_convert_progress(struct mtlm_conversion *conversion, int64_t bytes);

/* Name in a checkpoint: "layers.3.mlp.dense_h_to_4h.weight".  The caller frees
 * it. */
char *mtlm_convert_name(const struct mtlm_model *model, enum mtlm_param param,
                        int64_t layer);

/* Steps to the next parameter of the model in the order of the checkpoint;
 * start with -1, -1.  False: there is none. */
bool mtlm_convert_next(const struct mtlm_model *model, int *param,
                       int64_t *layer);

#endif /* MTLM_CONVERT_H */
