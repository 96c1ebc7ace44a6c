#ifndef MTLM_MOCK_DATASET_H
#define MTLM_MOCK_DATASET_H

#include "models/text/samples.h"

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

#endif /* MTLM_MOCK_DATASET_H */
