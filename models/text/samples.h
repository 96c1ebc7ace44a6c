#ifndef MTLM_SAMPLES_H
#define MTLM_SAMPLES_H

#include "runtime/base/sample.h"

/* A source of samples: sample n = 0, 1, 2, ... without end is a pure function
 * of n and of what the source was made from, in whatever order, by whatever
 * rank and worker it is asked for. */
struct mtlm_samples {
    int64_t seq_length;

    /* Writes values first .. first + n - 1 of field of sample; 0 <= first,
     * first + n <= mtlm_field_size(field, seq_length).  Any number of
     * threads may call it at once. */
    void (*read)(struct mtlm_samples *samples, int64_t sample,
                 enum mtlm_field field, int64_t first, int64_t n,
                 int32_t *values);

    void (*destroy)(struct mtlm_samples *samples);
};

static inline void mtlm_samples_read(struct mtlm_samples *samples,
                                     int64_t sample, enum mtlm_field field,
                                     int64_t first, int64_t n, int32_t *values)
{
    samples->read(samples, sample, field, first, n, values);
}

/* samples may be NULL. */
static inline void mtlm_samples_destroy(struct mtlm_samples *samples)
{
    if (samples)
        samples->destroy(samples);
}

#endif /* MTLM_SAMPLES_H */
