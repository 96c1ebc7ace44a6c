#ifndef MTLM_CONVERT_H
#define MTLM_CONVERT_H

/* mtlm-convert: import and export share this header; convert.c has the command
 * line; convert_tokens.c the special tokens. */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "models/model.h"
#include "models/weights/manifest.h"
#include "runtime/base/error.h"

struct mtlm_conversion {
    const char *input, *output; /* output: a directory that is new or empty */
    bool bf16;                  /* an export rounds to bfloat16 */
    int64_t shard_bytes;        /* of a file of an export; 0: one file */
    int64_t bytes, all_bytes;   /* of tensors: done; in all */
    int64_t started_ns, told_ns;
    int64_t tensors; /* written */
};

/* Imports Hugging Face's or llm.c's files: they become a checkpoint of
 * iteration 0.  Prints the result on stdout.  On failure, returns -1 and leaves
 * no new file. */
int mtlm_convert_import(struct mtlm_conversion *conversion,
                        struct mtlm_error *err);

/* Exports input, or its newest whole checkpoint, to Hugging Face's files.
 * Prints the result on stdout.  On failure, returns -1 and leaves no new
 * file. */
int mtlm_convert_export(struct mtlm_conversion *conversion,
                        struct mtlm_error *err);

/* Adds to config.json's contents the numbers of special tokens: where a GPT's
 * texts begin and end, and a BERT's padding.  They are those that an import
 * stored, or else come from the checkpoint's tokenizer.  Prints on stderr why a
 * tokenizer cannot be read; without one, a GPT with less than GPT-2's
 * vocabulary has no such token. */
void mtlm_convert_add_tokens(json_t *config,
                             const struct mtlm_manifest *manifest,
                             const struct mtlm_model *model);

/* The input is checked, and the output begins: starts the clock of the
 * progress, and defers signals to mtlm_tool_stopped().  Before, a signal ends
 * the program at once, as nothing is written. */
void mtlm_convert_begin(struct mtlm_conversion *conversion);

/* Counts the bytes of a written tensor; prints progress on stderr every 2 s. */
void mtlm_convert_progress(struct mtlm_conversion *conversion, int64_t bytes);

/* Returns the name in a checkpoint: "layers.3.mlp.dense_h_to_4h.weight".  The
 * caller frees the name. */
char *mtlm_convert_name(const struct mtlm_model *model, enum mtlm_param param,
                        int64_t layer);

/* Steps to the next parameter of the model in the order of the checkpoint;
 * start with -1, -1.  False: there is none. */
bool mtlm_convert_next(const struct mtlm_model *model, int *param,
                       int64_t *layer);

#endif /* MTLM_CONVERT_H */
