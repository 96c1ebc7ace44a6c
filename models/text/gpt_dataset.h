#ifndef MTLM_GPT_DATASET_H
#define MTLM_GPT_DATASET_H

#include "models/text/indexed_dataset.h"
#include "runtime/base/error.h"
#include "runtime/base/sample.h"

/* Returns GPT samples from documents first_document .. last_document - 1 of a
 * data set.  The data set must outlive the samples.
 *
 * The documents form an endless stream of tokens: all documents of epoch 0 in
 * random order, then those of epoch 1 in another order, and so on.  Piece k of
 * the stream is tokens k * seq_length .. (k + 1) * seq_length.  Neighbouring
 * pieces share a token, so each token is predicted once per epoch (causal.h).
 * The pieces that begin in an epoch are the epoch's samples, in random order.
 * Both orders are pure functions of seed and epoch.
 *
 * Differences from Megatron-LM: another random number generator; the number of
 * epochs need not be known in advance.
 *
 * eod: labels after this token do not count in the loss; -1: all count.  The
 * caller destroys the samples.  Returns NULL and sets *err (MTLM_EXIT_INPUT) if
 * the documents hold less than one sample.  Memory: 16 bytes per document. */
struct mtlm_samples *mtlm_gpt_dataset_create(
    const struct mtlm_indexed_dataset *dataset, int64_t first_document,
    int64_t last_document, int64_t seq_length, uint64_t seed, int32_t eod,
    struct mtlm_error *err);

#endif /* MTLM_GPT_DATASET_H */
