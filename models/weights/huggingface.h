#ifndef MTLM_HUGGINGFACE_H
#define MTLM_HUGGINGFACE_H

#include <jansson.h>

#include "models/weights/foreign_tensors.h"

/* A directory as Hugging Face's transformers write it: config.json and the
 * weights as safetensors, model.safetensors or several that
 * model.safetensors.index.json lists. */

/* Opens foreign->path: the model without what its tensors tell, the tensors in
 * any order.  Whether they fit is not yet known.  MTLM_EXIT_INPUT. */
int mtlm_huggingface_open(struct mtlm_foreign *foreign, struct mtlm_error *err);

/* What config.json says of the model, read from path.  MTLM_EXIT_INPUT when it
 * is none of ours. */
int mtlm_huggingface_read_config(const char *path, struct mtlm_model *model,
                                 struct mtlm_error *err);

/* And what it would say: a new reference.  MTLM_EXIT_USAGE when there is no
 * such architecture: a BERT with post_layernorm. */
json_t *mtlm_huggingface_config(const struct mtlm_model *model,
                                struct mtlm_error *err);

#endif /* MTLM_HUGGINGFACE_H */
