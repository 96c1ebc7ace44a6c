/* Fields of samples in which each token predicts the next. */

#include "config.h"

#include <assert.h>

#include "models/text/causal.h"

void mtlm_causal_read(struct mtlm_samples *samples, mtlm_causal_text *text,
                      int32_t eod, int64_t sample, enum mtlm_field field,
                      int64_t first, int64_t n, int32_t *values)
{
    const int64_t s = samples->seq_length;

    assert(sample >= 0 && first >= 0 && n >= 0);
    assert(first + n <= mtlm_field_size(field, s));
    if (field == MTLM_FIELD_TOKENS) {
        text(samples, sample, first, n, values);
    } else if (field == MTLM_FIELD_LABELS) {
        text(samples, sample, first + 1, n, values);
    } else if (field == MTLM_FIELD_LOSS_MASK && eod >= 0) {
        text(samples, sample, first, n, values);
        for (int64_t i = 0; i < n; i++)
            values[i] = values[i] != eod;
    } else {
        const int32_t value = field == MTLM_FIELD_LOSS_MASK ? 1
                              : field == MTLM_FIELD_LENGTH  ? (int32_t) s
                                                            : 0;

        for (int64_t i = 0; i < n; i++)
            values[i] = value;
    }
}
