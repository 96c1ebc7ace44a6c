#ifndef MTLM_LLMC_H
#define MTLM_LLMC_H

#include "models/weights/foreign_tensors.h"

/* Model files of llm.c, a GPT-2.  256 32-bit integers: magic 20240326; version
 * 3 (fp32) or 5 (bf16); positions, vocabulary, layers, heads, width, padded
 * vocabulary.  Then 16 tensors, each for all layers. */

/* Opens foreign->path.  MTLM_EXIT_INPUT; the caller closes it then, too. */
int mtlm_llmc_open(struct mtlm_foreign *foreign, struct mtlm_error *err);

/* Unmaps the file.  Does nothing for weights of another format. */
void mtlm_llmc_close(struct mtlm_foreign *foreign);

#endif /* MTLM_LLMC_H */
