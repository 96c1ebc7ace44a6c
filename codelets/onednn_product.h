#ifndef MTLM_ONEDNN_PRODUCT_H
#define MTLM_ONEDNN_PRODUCT_H

/* Products of bf16 matrices by oneDNN.  The functions do what those of
 * codelets/bf16_product.h do.  The first call of a kind compiles the product.
 */

#include "codelets/bf16_product.h"

void mtlm_onednn_product(const struct mtlm_bf16_product *product,
                         const uint16_t *a, const uint16_t *b,
                         const uint16_t *bias, void *c,
                         struct mtlm_scratch *scratch);

void mtlm_onednn_product_of_parts(const struct mtlm_bf16_product *product,
                                  const uint16_t *a, int64_t lda,
                                  const uint16_t *b, int64_t ldb, float *c,
                                  int64_t ldc);

void mtlm_onednn_product_pack(const struct mtlm_bf16_product *product,
                              const uint16_t *b, uint16_t *packed,
                              struct mtlm_scratch *scratch);

bool mtlm_onednn_product_packs(const struct mtlm_bf16_product *product,
                               bool bias, const struct mtlm_bf16_product *like);

#endif /* MTLM_ONEDNN_PRODUCT_H */
