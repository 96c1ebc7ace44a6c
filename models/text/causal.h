#ifndef MTLM_CAUSAL_H
#define MTLM_CAUSAL_H

#include "runtime/base/sample.h"

/* Fields of causal samples: plain text, in which each token predicts the
 * next. */

/* Writes tokens first .. first + n - 1 of a sample's seq_length + 1 tokens. */
typedef void mtlm_causal_text(struct mtlm_samples *samples, int64_t sample,
                              int64_t first, int64_t n, int32_t *tokens);

/* Implements the function read of struct mtlm_samples for the tokens that text
 * writes.  TOKENS are tokens 0 .. seq_length - 1, LABELS tokens 1 ..
 * seq_length.  LOSS_MASK is 0 where the input token is eod, else 1; eod -1:
 * always 1.  The label after eod belongs to an unrelated document (Megatron's
 * --eod-mask-loss).  LENGTH is seq_length; TYPES and ORDER are 0. */
void mtlm_causal_read(struct mtlm_samples *samples, mtlm_causal_text *text,
                      int32_t eod, int64_t sample, enum mtlm_field field,
                      int64_t first, int64_t n, int32_t *values);

#endif /* MTLM_CAUSAL_H */
