#ifndef MTLM_LLMC_H
#define MTLM_LLMC_H

#include "models/weights/foreign_tensors.h"

/* A model file of llm.c, a GPT-2: 256 32-bit integers - magic 20240326; version
 * 3 for fp32, 5 for bf16; positions, vocabulary, layers, heads, width, padded
 * vocabulary - then 16 tensors, each kind for all layers.  MTLM_EXIT_INPUT. */
int mtlm_llmc_open(struct mtlm_foreign *foreign, struct mtlm_error *err);
void mtlm_llmc_close(struct mtlm_foreign *foreign);

#endif /* MTLM_LLMC_H */
