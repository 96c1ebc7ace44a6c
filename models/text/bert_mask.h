#ifndef MTLM_BERT_MASK_H
#define MTLM_BERT_MASK_H

#include "models/text/bert_vocab.h"
#include "models/text/draw.h"

/* Masks tokens [n], [CLS] A [SEP] B [SEP], for a BERT to predict.  Sets mask
 * [n], zero before, to 1 for chosen tokens.  Replaces a chosen token by [MASK]
 * (80 %), itself (10 %) or a random token (10 %).  Returns the number of chosen
 * tokens.  room [3 n]: scratch.
 *
 * Whole words are chosen, as n-grams of 1, 2 or 3 words with probabilities
 * 6/11, 3/11, 2/11 (p proportional to 1/n).  N-grams begin at each word, in
 * random order, until the budget is spent: min(probability target,
 * round(probability n)) tokens, at least one.  An n-gram beyond the budget is
 * shortened.  An n-gram is left out if it overlaps a chosen n-gram, or if one
 * word exceeds the budget.  Source: Megatron's rules.  They leave a sample
 * without a chosen token if the target is short or if every word exceeds the
 * budget.  Here the first tokens of a shortest word are chosen then, as many as
 * the budget.  Probability 0 chooses none. */
int64_t mtlm_bert_mask(const struct mtlm_bert_vocab *vocab, double probability,
                       int64_t target, struct mtlm_draw *draw, int64_t n,
                       int32_t *tokens, int32_t *mask, int32_t *room);

#endif /* MTLM_BERT_MASK_H */
