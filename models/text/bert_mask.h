#ifndef MTLM_BERT_MASK_H
#define MTLM_BERT_MASK_H

#include "models/text/bert_vocab.h"
#include "models/text/draw.h"

/* Chooses what a BERT has to predict in tokens [n], [CLS] A [SEP] B [SEP]:
 * sets mask [n], all 0 before, to 1 there, and puts what the model is shown
 * in place of the token: [MASK] (80 %), the token itself (10 %) or a random
 * one (10 %).
 *
 * Whole words are chosen, as n-grams of 1, 2 or 3 words with probabilities
 * 6/11, 3/11, 2/11 (p proportional to 1/n), which begin at each word in
 * random order, until the budget of min(probability target, max(1, round(
 * probability n))) tokens is spent.  An n-gram beyond the budget is shortened;
 * one that is too long even as one word, or touches a chosen one, is left
 * out.  (Megatron's rules.)
 *
 * room [3 n] is for intermediates.  Returns how many were chosen. */
int64_t mtlm_bert_mask(const struct mtlm_bert_vocab *vocab, double probability,
                       int64_t target, struct mtlm_draw *draw, int64_t n,
                       int32_t *tokens, int32_t *mask, int32_t *room);

#endif /* MTLM_BERT_MASK_H */
