#ifndef MTLM_CAUSAL_H
#define MTLM_CAUSAL_H

#include "runtime/base/sample.h"

/* Fields of causal samples: plain text, where each token predicts the next. */

/* Writes tokens first .. first + n - 1 of a sample's seq_length + 1 tokens. */
typedef void mtlm_causal_text(struct mtlm_samples *samples, int64_t sample,
                              int64_t first, int64_t n, int32_t *tokens);

/* Implements read of struct mtlm_samples for the tokens of text.  TOKENS are
 * tokens 0 .. seq_length - 1, LABELS 1 .. seq_length.  LOSS_MASK is 1, but 0
 * where the input is the token eod (-1: no such token): the label belongs to an
 * unrelated document, as with Megatron's --eod-mask-loss.  LENGTH is
 * seq_length; TYPES and ORDER are 0. */
void mtlm_causal_read(struct mtlm_samples *samples, mtlm_causal_text *text,
                      int32_t eod, int64_t sample, enum mtlm_field field,
                      int64_t first, int64_t n, int32_t *values);

#endif /* MTLM_CAUSAL_H */
