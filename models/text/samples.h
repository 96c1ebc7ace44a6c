#ifndef MTLM_SAMPLES_H
#define MTLM_SAMPLES_H

#include <stdint.h>

/* A source of samples: sample n = 0, 1, 2, ... without end is seq_length + 1
 * tokens, a pure function of n and of what the source was made from, in
 * whatever order, by whatever rank and worker it is asked for.  Tokens
 * 0 .. seq_length - 1 are the input, 1 .. seq_length the labels. */
struct mtlm_samples {
    int64_t seq_length;

    /* Writes tokens first .. first + n - 1 of sample; 0 <= first, first + n
     * <= seq_length + 1.  Any number of threads may call it at once. */
    void (*read)(struct mtlm_samples *samples, int64_t sample, int64_t first,
                 int64_t n, int32_t *tokens);

    void (*destroy)(struct mtlm_samples *samples);
};

static inline void mtlm_samples_read(struct mtlm_samples *samples,
                                     int64_t sample, int64_t first, int64_t n,
                                     int32_t *tokens)
{
    samples->read(samples, sample, first, n, tokens);
}

/* samples may be NULL. */
static inline void mtlm_samples_destroy(struct mtlm_samples *samples)
{
    if (samples)
        samples->destroy(samples);
}

#endif /* MTLM_SAMPLES_H */
