#ifndef MTLM_FOREIGN_H
#define MTLM_FOREIGN_H

#include "models/weights/foreign_tensors.h"

/* Weights of a GPT-2, a BLOOM or a MegatronBert in the formats of other
 * programs.  Hugging Face's names and layouts differ from ours:
 *
 *   QKV rows    theirs [q, k, v][head][h / a], ours [head][q, k, v][h / a]; a
 *               MegatronBert has q, k and v as separate tensors; a BLOOM has
 *               our rows
 *   matrices    theirs [in, out] in the layers of a GPT-2, ours [out, in];
 *               llm.c's are as ours
 *   output      may be stored again, though tied to the word embedding
 *
 * Sources: huggingface/transformers, modeling_gpt2.py, modeling_bloom.py and
 * modeling_megatron_bert.py; karpathy/llm.c, train_gpt2.c. */

/* Opens a directory of Hugging Face (models/weights/huggingface.h) or a file of
 * llm.c (models/weights/llmc.h); the caller closes *foreign.  MTLM_EXIT_INPUT:
 * the path is neither, is damaged, has another architecture or lacks a tensor.
 * MTLM_EXIT_IO: a file is unreadable. */
int mtlm_foreign_open(struct mtlm_foreign *foreign, const char *path,
                      struct mtlm_error *err);

/* Unmaps the files. */
void mtlm_foreign_close(struct mtlm_foreign *foreign);

/* Reads a parameter in our layout: ours [rows, cols]. */
void mtlm_foreign_read(const struct mtlm_foreign *foreign,
                       enum mtlm_param param, int64_t layer, float *ours);

/* Writes one part of a parameter in Hugging Face's layout: ours [rows, cols],
 * theirs as mtlm_foreign_part_shape() with linear false. */
void mtlm_foreign_part(const struct mtlm_model *model, enum mtlm_param param,
                       int part, const float *ours, float *theirs);

#endif /* MTLM_FOREIGN_H */
