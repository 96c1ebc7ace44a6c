#ifndef MTLM_TESTS_CAUSAL_H
#define MTLM_TESTS_CAUSAL_H

#include "runtime/base/sample.h"

/* Tokens first .. first + n - 1 of the seq_length + 1 of a sample of plain
 * text: the last one is only a label. */
static inline void read_text(struct mtlm_samples *samples, int64_t sample,
                             int64_t first, int64_t n, int32_t *tokens)
{
    const int64_t s = samples->seq_length;
    const int64_t inputs = first + n > s ? s - first : n;

    mtlm_samples_read(samples, sample, MTLM_FIELD_TOKENS, first, inputs,
                      tokens);
    if (inputs < n)
        mtlm_samples_read(samples, sample, MTLM_FIELD_LABELS, s - 1, 1,
                          tokens + inputs);
}

#endif /* MTLM_TESTS_CAUSAL_H */
