#ifndef MTLM_ATTENTION_BF16_H
#define MTLM_ATTENTION_BF16_H

/* Attention of one head on bf16 values: products of bf16 matrices
 * (codelets/bf16_product.h), all else in fp32.  Probabilities and gradients of
 * scores are rounded to bf16 for the products. */

#include "codelets/attention/attention_block.h"

/* Functions of struct mtlm_attention_way. */
int64_t mtlm_attention_fwd_bf16_scratch(int64_t keys, int64_t d);
void mtlm_attention_fwd_bf16_head(const struct mtlm_head *head, bool merge,
                                  void *y, float *lse, float *scratch);
int64_t mtlm_attention_bwd_bf16_scratch(int64_t keys, int64_t d);
void mtlm_attention_bwd_bf16_head(const struct mtlm_head *head, bool add,
                                  const void *y, const float *lse,
                                  const void *dy, void *dq, void *dk, void *dv,
                                  float *scratch);

#endif /* MTLM_ATTENTION_BF16_H */
