#ifndef MTLM_ENTROPY_H
#define MTLM_ENTROPY_H

#include "models/text/indexed_dataset.h"

/* Entropy of the bytes of documents, a baseline for a language model's loss. */
struct mtlm_entropy {
    /* H(b) = -sum p(b) ln p(b), nats per byte. */
    double unigram;
    /* H(b_t | b_t-1) = -sum p(a, b) ln p(b | a), nats per byte, over pairs of
     * neighbours inside a document. */
    double bigram;
    int64_t bytes, pairs; /* counted; 0: the entropy is 0 */
};

/* Returns the entropy of documents first .. last - 1, tokenised by bytes. Other
 * tokens (ends of documents) do not count, and form no pairs. */
struct mtlm_entropy mtlm_entropy_measure(
    const struct mtlm_indexed_dataset *dataset, int64_t first, int64_t last);

#endif /* MTLM_ENTROPY_H */
