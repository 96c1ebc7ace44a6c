#ifndef MTLM_MOCK_DATASET_H
#define MTLM_MOCK_DATASET_H

#include "models/text/bert_sample.h"
#include "runtime/base/sample.h"

/* Pseudo-text for runs without data: each sample is a piece of a Markov
 * chain of order 2 over at most 256 symbols, spread over the vocabulary.
 * Three tokens of eight follow from the one before, as many from the two
 * before, the rest come by Zipf's law: a model learns first the frequencies,
 * then the pairs, then the triples.  The chain is the same for every seed,
 * which chooses the samples, so that training and validation data are two
 * seeds.  vocab_size >= 1, seq_length >= 1.  Never fails. */
struct mtlm_samples *mtlm_mock_dataset_create(int64_t vocab_size,
                                              int64_t seq_length,
                                              uint64_t seed);

/* The same as samples of a BERT: the chain's text, whose first token is 0 and
 * whose second segment begins with the highest one, so that the order can be
 * learnt, cut and masked as recipe says.  Every token is a word.  The last
 * four tokens of the vocabulary are [CLS], [SEP], [MASK] and [PAD], whatever
 * recipe->vocab is; vocab_size >= MTLM_MOCK_BERT_VOCAB. */
struct mtlm_samples *mtlm_mock_dataset_create_bert(
    int64_t vocab_size, const struct mtlm_bert_recipe *recipe);

enum { MTLM_MOCK_BERT_VOCAB = 6 };

#endif /* MTLM_MOCK_DATASET_H */
