#ifndef MTLM_CAUSAL_H
#define MTLM_CAUSAL_H

#include "runtime/base/sample.h"

/* The fields of samples that are plain text, for which each token predicts
 * the next one. */

/* Writes tokens first .. first + n - 1 of sample, of which there are
 * seq_length + 1. */
typedef void mtlm_causal_text(struct mtlm_samples *samples, int64_t sample,
                              int64_t first, int64_t n, int32_t *tokens);

/* What read of struct mtlm_samples writes: TOKENS are 0 .. seq_length - 1 of
 * the text, LABELS 1 .. seq_length; every label counts, but for those where
 * the input is the token eod (-1: no such token), as Megatron's
 * --eod-mask-loss has it: what follows is the beginning of an unrelated
 * document.  LENGTH is seq_length, TYPES and ORDER are 0. */
void mtlm_causal_read(struct mtlm_samples *samples, mtlm_causal_text *text,
                      int32_t eod, int64_t sample, enum mtlm_field field,
                      int64_t first, int64_t n, int32_t *values);

#endif /* MTLM_CAUSAL_H */
