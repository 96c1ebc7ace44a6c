#ifndef MTLM_BERT_SAMPLE_H
#define MTLM_BERT_SAMPLE_H

#include "models/text/bert_vocab.h"
#include "models/text/draw.h"
#include "runtime/base/sample.h"

/* Settings that make a piece of text a BERT sample. */
struct mtlm_bert_recipe {
    const struct mtlm_bert_vocab *vocab;
    int64_t seq_length; /* at least MTLM_BERT_SHORTEST */
    double mask_prob;   /* largest share of tokens to predict */
    double short_seq_prob;
    bool binary_head; /* two segments in some order; false: one */
    uint64_t seed;
};

enum { MTLM_BERT_SHORTEST = 5 };

/* Draws the target of a sample, in tokens of text.  The target is seq_length -
 * 3, with room for [CLS] and two [SEP].  With probability short_seq_prob the
 * target is a random number from 2 to below that. */
int64_t mtlm_bert_sample_target(const struct mtlm_bert_recipe *recipe,
                                struct mtlm_draw *draw);

/* A piece of text in two segments: tokens 0 .. pivot - 1 and pivot ..
 * tokens - 1. */
struct mtlm_bert_text {
    int64_t tokens, pivot;

    /* Writes tokens first .. first + n - 1. */
    void (*read)(const struct mtlm_bert_text *text, int64_t first, int64_t n,
                 int32_t *tokens);
};

/* Writes values first .. first + n - 1 of a field of text's sample.  Each field
 * needs the same draw, from its beginning.
 *
 * The segments are A and B, swapped with probability 1/2 (ORDER 1).  While both
 * together exceed target tokens, the longer segment (B, when equal) loses its
 * first or last token, at random.  TOKENS are [CLS] A [SEP] B [SEP], some
 * masked (bert_mask.h), then [PAD].  LABELS are the tokens before masking;
 * LOSS_MASK is 1 at masked tokens.  Without the binary head: [CLS] A [SEP],
 * where A is the whole text. */
void mtlm_bert_sample_read(const struct mtlm_bert_recipe *recipe,
                           const struct mtlm_bert_text *text, int64_t target,
                           struct mtlm_draw draw, enum mtlm_field field,
                           int64_t first, int64_t n, int32_t *values);

#endif /* MTLM_BERT_SAMPLE_H */
