#ifndef MTLM_MOCK_DATASET_H
#define MTLM_MOCK_DATASET_H

#include "models/text/bert_sample.h"
#include "runtime/base/sample.h"

/* Pseudo-text for runs without data.  Each sample is a piece of a Markov chain
 * of order 2 over at most 256 symbols, spread over the vocabulary.  Of eight
 * tokens three follow from the token before, three from the two before, two are
 * drawn by Zipf's law.  A model learns frequencies first, then pairs, then
 * triples.  The chain is the same for every seed; the seed chooses the samples,
 * so training and validation data are two seeds. */

/* Creates GPT samples; the caller destroys them.  vocab_size >= 1, seq_length
 * >= 1. */
struct mtlm_samples *mtlm_mock_dataset_create(int64_t vocab_size,
                                              int64_t seq_length,
                                              uint64_t seed);

/* Creates BERT samples of the chain's text, cut and masked by recipe; the
 * caller destroys them.  The first token of a text is 0 and the second segment
 * begins with the highest token, so that the order can be learnt.  Every token
 * is a word.  The last four tokens of the vocabulary are [CLS], [SEP], [MASK]
 * and [PAD]; recipe->vocab is ignored.  vocab_size >= MTLM_MOCK_BERT_VOCAB. */
struct mtlm_samples *mtlm_mock_dataset_create_bert(
    int64_t vocab_size, const struct mtlm_bert_recipe *recipe);

enum { MTLM_MOCK_BERT_VOCAB = 6 };

#endif /* MTLM_MOCK_DATASET_H */
