#ifndef MTLM_BERT_SAMPLE_H
#define MTLM_BERT_SAMPLE_H

#include "models/text/bert_vocab.h"
#include "models/text/draw.h"
#include "runtime/base/sample.h"

/* How a BERT sample comes of a piece of text. */
struct mtlm_bert_recipe {
    const struct mtlm_bert_vocab *vocab;
    int64_t seq_length; /* at least MTLM_BERT_SHORTEST */
    double mask_prob;   /* share of the tokens to be predicted */
    double short_seq_prob;
    bool binary_head; /* two segments and their order; otherwise one */
    uint64_t seed;
};

enum { MTLM_BERT_SHORTEST = 5 };

/* Tokens of text that a sample should take: seq_length - 3, which leaves room
 * for [CLS] and two [SEP], or, with probability short_seq_prob, any number
 * from 2 on below that. */
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

/* Writes values first .. first + n - 1 of field of the sample that text
 * becomes, with draw from its beginning for each field alike.
 *
 * The segments are A and B, swapped with probability 1/2 (ORDER 1).  While
 * they have more than target tokens the longer one (B, when equal) loses its
 * first or its last, at random.  TOKENS are [CLS] A [SEP] B [SEP], some of
 * them masked (bert_mask.h), then [PAD]; LABELS what they were, LOSS_MASK 1
 * where they are masked.  Without the binary head: [CLS] A [SEP], A being the
 * whole text. */
void mtlm_bert_sample_read(const struct mtlm_bert_recipe *recipe,
                           const struct mtlm_bert_text *text, int64_t target,
                           struct mtlm_draw draw, enum mtlm_field field,
                           int64_t first, int64_t n, int32_t *values);

#endif /* MTLM_BERT_SAMPLE_H */
