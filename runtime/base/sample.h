#ifndef MTLM_SAMPLE_H
#define MTLM_SAMPLE_H

/* The samples of a training run and where they come from. */

#include <stdint.h>

/* The fields of a training sample.  A field holds seq_length values, one per
 * row, or one value for the whole sample. */
enum mtlm_field {
    MTLM_FIELD_TOKENS,
    MTLM_FIELD_LABELS,      /* the token to predict */
    MTLM_FIELD_LOSS_MASK,   /* 1 where the label counts, else 0 */
    MTLM_FIELD_TYPES,       /* BERT: 0 in sentence A, 1 in B; GPT: 0 */
    MTLM_FIELD_LENGTH,      /* one value: tokens before the padding */
    MTLM_FIELD_ORDER,       /* one value: 1 where A and B are swapped */
    MTLM_FIELD_PRETRAINING, /* number of fields of a pretraining sample */
    /* Of a fine-tuning task, one value each.  A question with choices is as
     * many consecutive samples, which all have the number of the right one. */
    MTLM_FIELD_CLASS = MTLM_FIELD_PRETRAINING, /* class, or right choice */
    MTLM_FIELD_START, /* position of the answer's first token; 0: none */
    MTLM_FIELD_END,   /* position of the answer's last token; 0: none */
    MTLM_FIELD_COUNT
};

/* Returns the number of values of a field in one sample. */
static inline int64_t mtlm_field_size(enum mtlm_field field, int64_t seq_length)
{
    return field >= MTLM_FIELD_LENGTH ? 1 : seq_length;
}

/* An endless source of samples 0, 1, 2, ...  A sample is a pure function of its
 * number and of what the source was made from.  A type of source embeds this
 * struct as its first member. */
struct mtlm_samples {
    int64_t seq_length;
    int64_t epoch; /* samples of one pass through the text; 0: endless text */

    /* Writes values first .. first + n - 1 of a field of sample;
     * 0 <= first, first + n <= mtlm_field_size(field, seq_length).  Any number
     * of threads may call read() at once. */
    void (*read)(struct mtlm_samples *samples, int64_t sample,
                 enum mtlm_field field, int64_t first, int64_t n,
                 int32_t *values);

    /* Frees the source. */
    void (*destroy)(struct mtlm_samples *samples);
};

static inline void mtlm_samples_read(struct mtlm_samples *samples,
                                     int64_t sample, enum mtlm_field field,
                                     int64_t first, int64_t n, int32_t *values)
{
    samples->read(samples, sample, field, first, n, values);
}

/* NULL is allowed. */
static inline void mtlm_samples_destroy(struct mtlm_samples *samples)
{
    if (samples)
        samples->destroy(samples);
}

#endif /* MTLM_SAMPLE_H */
