#ifndef MTLM_ENTROPY_H
#define MTLM_ENTROPY_H

#include "models/text/indexed_dataset.h"

/* How well the bytes of documents can be guessed from their own frequencies:
 * what a language model's loss is compared with. */
struct mtlm_entropy {
    /* H(b) = -sum p(b) ln p(b), nats per byte. */
    double unigram;
    /* H(b_t | b_t-1) = -sum p(a, b) ln p(b | a), nats per byte, over pairs of
     * neighbours inside a document. */
    double bigram;
    int64_t bytes, pairs; /* how many went into it; 0: the entropy is 0 */
};

/* Of documents first .. last - 1, tokenised by bytes.  Other tokens (the end
 * of a document) do not count and part their neighbours. */
struct mtlm_entropy mtlm_entropy_measure(
    const struct mtlm_indexed_dataset *dataset, int64_t first, int64_t last);

#endif /* MTLM_ENTROPY_H */
