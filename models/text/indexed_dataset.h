#ifndef MTLM_INDEXED_DATASET_H
#define MTLM_INDEXED_DATASET_H

#include <stdint.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tokenised documents in Megatron's two files, PREFIX.bin (the tokens of all
 * documents, one after the other) and PREFIX.idx (where each begins).  A
 * document is one sequence of tokens, or several, its sentences; sequences
 * are numbered from 0 through all documents.  Both files are checked whole on
 * open; after that nothing can fail, and any number of threads may read.
 * Memory: 8 bytes per sequence and per document. */
struct mtlm_indexed_dataset;

/* Opens PREFIX.bin and PREFIX.idx.  Every token must be at least 0 and below
 * vocab_size (0: no limit).  NULL and MTLM_EXIT_INPUT when a file is missing
 * or damaged, with the file, the offset, what was expected and found. */
struct mtlm_indexed_dataset *mtlm_indexed_dataset_open(const char *prefix,
                                                       int64_t vocab_size,
                                                       struct mtlm_error *err);

/* dataset may be NULL. */
void mtlm_indexed_dataset_close(struct mtlm_indexed_dataset *dataset);

/* As given to open. */
const char *mtlm_indexed_dataset_prefix(
    const struct mtlm_indexed_dataset *dataset);

/* At least 1. */
int64_t mtlm_indexed_dataset_documents(
    const struct mtlm_indexed_dataset *dataset);

/* Tokens in documents first .. last - 1; 0 <= first <= last <= documents.
 * A document may be empty, but not all of them. */
int64_t mtlm_indexed_dataset_tokens(const struct mtlm_indexed_dataset *dataset,
                                    int64_t first, int64_t last);

/* Number of the first sequence of document; of document documents: how many
 * sequences there are.  A document may have none. */
int64_t mtlm_indexed_dataset_sequence(
    const struct mtlm_indexed_dataset *dataset, int64_t document);

/* Tokens in sequences first .. last - 1. */
int64_t mtlm_indexed_dataset_sequence_tokens(
    const struct mtlm_indexed_dataset *dataset, int64_t first, int64_t last);

/* Writes tokens first .. first + n - 1 counted from the beginning of
 * sequence, where the next sequence follows it without a gap; they must be
 * there. */
void mtlm_indexed_dataset_sequence_read(
    const struct mtlm_indexed_dataset *dataset, int64_t sequence, int64_t first,
    int64_t n, int32_t *tokens);

/* Writes tokens first .. first + n - 1 of document; they must be there. */
void mtlm_indexed_dataset_read(const struct mtlm_indexed_dataset *dataset,
                               int64_t document, int64_t first, int64_t n,
                               int32_t *tokens);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_INDEXED_DATASET_H */
