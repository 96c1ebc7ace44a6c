#ifndef MTLM_SCORED_TEXT_H
#define MTLM_SCORED_TEXT_H

/* Samples of a zero-shot evaluation: a sample is a span of tokens, of which the
 * model predicts the last ones. */

#include "runtime/base/sample.h"

struct mtlm_scored_span {
    int64_t begin;  /* first token */
    int32_t tokens; /* at most seq_length + 1 */
    int32_t scored; /* tokens to predict, the last ones: 1 .. tokens - 1 */
};

struct mtlm_scored_text {
    /* A sample is number i, a span.  Samples from number `samples` on have no
     * token to predict, so a batch may hold more samples than there are. */
    struct mtlm_samples source;
    int32_t pad; /* token behind a span */
    int32_t *token;
    int64_t tokens;
    struct mtlm_scored_span *span;
    int64_t samples;
    int64_t scored; /* tokens to predict, of all samples */
    int64_t words;  /* of the raw text; 0: not counted */
    int64_t cut;    /* samples whose context lost its begin */
    uint64_t hash;  /* of tokens and spans */
};

/* Returns an empty text with room for tokens and samples.
 * mtlm_samples_destroy(&text->source) frees the text. */
struct mtlm_scored_text *mtlm_scored_text_create(int64_t seq_length,
                                                 int32_t pad, int64_t tokens,
                                                 int64_t samples);

/* Adds a sample, of which at most seq_length tokens are to predict.  Cuts the
 * begin of a sample of more than seq_length + 1 tokens. */
void mtlm_scored_text_add(struct mtlm_scored_text *text,
                          struct mtlm_scored_span span);

/* Ends the additions: sets the hash and gives back unused room. */
void mtlm_scored_text_end(struct mtlm_scored_text *text);

#endif /* MTLM_SCORED_TEXT_H */
