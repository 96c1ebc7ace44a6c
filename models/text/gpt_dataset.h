#ifndef MTLM_GPT_DATASET_H
#define MTLM_GPT_DATASET_H

#include "models/text/indexed_dataset.h"
#include "runtime/base/error.h"
#include "runtime/base/sample.h"

/* Samples for a GPT from documents first_document .. last_document - 1 of
 * dataset, which must outlive them.
 *
 * The documents form one endless stream of tokens: those of epoch 0 in random
 * order, those of epoch 1 in another, and so on.  Piece k of the stream is
 * its tokens k * seq_length .. (k + 1) * seq_length, so that two neighbours
 * share a token and each token is predicted once per epoch (its fields:
 * causal.h).  The pieces that
 * begin in the same epoch are samples of that epoch, in random order.  Both
 * orders are pure functions of seed and epoch.  (Megatron's samples, but for
 * the generator; no number of epochs is needed in advance.)
 *
 * What follows the token eod does not count in the loss (-1: all counts).
 *
 * NULL and MTLM_EXIT_INPUT when the documents hold less than one sample.
 * Memory: 16 bytes per document. */
struct mtlm_samples *mtlm_gpt_dataset_create(
    const struct mtlm_indexed_dataset *dataset, int64_t first_document,
    int64_t last_document, int64_t seq_length, uint64_t seed, int32_t eod,
    struct mtlm_error *err);

/* Number of the first sample of epoch. */
int64_t mtlm_gpt_dataset_first_sample(const struct mtlm_samples *samples,
                                      int64_t epoch);

#endif /* MTLM_GPT_DATASET_H */
