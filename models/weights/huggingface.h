#ifndef MTLM_HUGGINGFACE_H
#define MTLM_HUGGINGFACE_H

#include <jansson.h>

#include "models/weights/foreign_tensors.h"

/* Directories of Hugging Face's transformers: config.json, and the weights in
 * model.safetensors or in the files listed by model.safetensors.index.json. */

/* Opens foreign->path: sets the tensors, in any order, and the model as far as
 * config.json tells.  Does not compare the two.  MTLM_EXIT_INPUT. */
int mtlm_huggingface_open(struct mtlm_foreign *foreign, struct mtlm_error *err);

/* Reads a config.json at path; ends is for a GPT.  MTLM_EXIT_INPUT: none of our
 * models. */
int mtlm_huggingface_read_config(const char *path, struct mtlm_model *model,
                                 struct mtlm_ends *ends,
                                 struct mtlm_error *err);

/* Returns config.json's contents for a model, a new reference.  NULL and
 * MTLM_EXIT_USAGE: no such architecture, for example a BERT with
 * post_layernorm. */
json_t *mtlm_huggingface_config(const struct mtlm_model *model,
                                struct mtlm_error *err);

#endif /* MTLM_HUGGINGFACE_H */
