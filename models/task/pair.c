/* Two texts in one sequence. */

#include "config.h"

#include <assert.h>

#include "models/task/pair.h"

/* Returns the token at i, before the last [SEP]. */
static int32_t token_at(const struct mtlm_pair *pair,
                        const struct mtlm_bert_vocab *vocab, int64_t i)
{
    if (i == 0)
        return vocab->cls;
    if (i <= pair->a_tokens)
        return pair->a[i - 1];
    if (i == pair->a_tokens + 1)
        return vocab->sep;
    return pair->b[i - pair->a_tokens - 2];
}

void mtlm_pair_read(const struct mtlm_pair *pair,
                    const struct mtlm_bert_vocab *vocab, int64_t seq_length,
                    enum mtlm_field field, int64_t first, int64_t n,
                    int32_t *values)
{
    const int64_t all = pair->a_tokens + pair->b_tokens + 2;
    const int64_t last = all < seq_length ? all : seq_length - 1;

    assert(first >= 0 && n >= 0);
    assert(first + n <= mtlm_field_size(field, seq_length));
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = first + k;

        values[k] = 0;
        if (field == MTLM_FIELD_TOKENS)
            values[k] = i < last    ? token_at(pair, vocab, i)
                        : i == last ? vocab->sep
                                    : vocab->pad;
        else if (field == MTLM_FIELD_TYPES)
            values[k] = i == last || (i < last && i >= pair->a_tokens + 2);
        else if (field == MTLM_FIELD_LENGTH)
            values[k] = (int32_t) last + 1;
    }
}
