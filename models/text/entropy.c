/* Unigram and bigram entropy of the bytes of documents. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "models/text/entropy.h"
#include "runtime/base/memory.h"

enum { BYTES = 256, CHUNK = 4096 };

struct byte_counts {
    int64_t byte[BYTES];
    int64_t pair[BYTES][BYTES]; /* [before][after] */
};

static void count_document(struct byte_counts *counts,
                           const struct mtlm_indexed_dataset *dataset,
                           int64_t document)
{
    const int64_t tokens =
        mtlm_indexed_dataset_tokens(dataset, document, document + 1);
    int32_t chunk[CHUNK], before = BYTES;

    for (int64_t first = 0; first < tokens; first += CHUNK) {
        const int64_t n = tokens - first < CHUNK ? tokens - first : CHUNK;

        mtlm_indexed_dataset_read(dataset, document, first, n, chunk);
        for (int64_t i = 0; i < n; i++) {
            if (chunk[i] < BYTES) {
                counts->byte[chunk[i]]++;
                if (before < BYTES)
                    counts->pair[before][chunk[i]]++;
            }
            before = chunk[i];
        }
    }
}

/* Returns sum_i n_i ln(n / n_i), the entropy times n, where n = sum_i n_i; adds
 * n to *all. */
static double weighted_entropy(const int64_t count[BYTES], int64_t *all)
{
    int64_t n = 0;
    double sum = 0;

    for (int i = 0; i < BYTES; i++)
        n += count[i];
    for (int i = 0; i < BYTES; i++)
        if (count[i])
            sum += count[i] * log((double) n / count[i]);
    *all += n;
    return sum;
}

struct mtlm_entropy mtlm_entropy_measure(
    const struct mtlm_indexed_dataset *dataset, int64_t first, int64_t last)
{
    struct byte_counts *counts = mtlm_calloc(1, sizeof(*counts));
    struct mtlm_entropy entropy = {0};

    for (int64_t document = first; document < last; document++)
        count_document(counts, dataset, document);
    entropy.unigram = weighted_entropy(counts->byte, &entropy.bytes);
    for (int before = 0; before < BYTES; before++)
        entropy.bigram +=
            weighted_entropy(counts->pair[before], &entropy.pairs);
    if (entropy.bytes)
        entropy.unigram /= entropy.bytes;
    if (entropy.pairs)
        entropy.bigram /= entropy.pairs;
    free(counts);
    return entropy;
}
