#ifndef MTLM_SAMPLE_H
#define MTLM_SAMPLE_H

#include <stdint.h>

/* What a training sample consists of.  Each field is seq_length values, a row
 * each, or one value of the whole sample. */
enum mtlm_field {
    MTLM_FIELD_TOKENS,
    MTLM_FIELD_LABELS,    /* what is to be predicted; always a token */
    MTLM_FIELD_LOSS_MASK, /* 1 where the label counts, 0 where not */
    MTLM_FIELD_TYPES,     /* BERT: 0 in sentence A, 1 in B; GPT: 0 */
    MTLM_FIELD_LENGTH,    /* one value: tokens before the padding */
    MTLM_FIELD_ORDER,     /* one value: 1 where A and B are swapped */
    MTLM_FIELD_COUNT
};

/* Values of a field in a sample. */
static inline int64_t mtlm_field_size(enum mtlm_field field, int64_t seq_length)
{
    return field == MTLM_FIELD_LENGTH || field == MTLM_FIELD_ORDER ? 1
                                                                   : seq_length;
}

/* Where samples 0, 1, 2, ... without end come from, for the operations that
 * put them into tensors; launch/ provides it. */
struct mtlm_sample_source {
    /* Writes values first .. first + n - 1 of a field of sample, which has
     * them.  A pure function of its arguments; any number of threads may
     * call it at once. */
    void (*read)(const struct mtlm_sample_source *source, int64_t sample,
                 enum mtlm_field field, int64_t first, int64_t n,
                 int32_t *values);
};

#endif /* MTLM_SAMPLE_H */
