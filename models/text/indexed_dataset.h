#ifndef MTLM_INDEXED_DATASET_H
#define MTLM_INDEXED_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tokenised documents in Megatron's two files: PREFIX.bin holds the tokens of
 * all documents, PREFIX.idx where each document begins.  A document is one
 * sequence of tokens, or several sequences, its sentences.  Sequences are
 * numbered from 0 through all documents.  Opening checks both files completely;
 * afterwards nothing fails, and any number of threads may read.  Memory: 8
 * bytes per sequence and per document. */
struct mtlm_indexed_dataset;

/* Returns the prefix of existing files: prefix itself, or else prefix with the
 * ending that mtlm-preprocess adds.  sentences: the ending is _text_sentence;
 * otherwise _text_document, or else _text_sentence.  NULL: there are no such
 * files.  The caller frees the text. */
char *mtlm_indexed_dataset_find(const char *prefix, bool sentences);

/* Opens PREFIX.bin and PREFIX.idx; the caller closes the data set.  Tokens must
 * be 0 .. vocab_size - 1 (vocab_size 0: no limit).  NULL and MTLM_EXIT_INPUT
 * with file, offset, what was expected and found: a file is missing or damaged.
 * NULL and MTLM_EXIT_IO: a file is unreadable. */
struct mtlm_indexed_dataset *mtlm_indexed_dataset_open(const char *prefix,
                                                       int64_t vocab_size,
                                                       struct mtlm_error *err);

/* Cuts the document that holds a token, 0 .. tokens, so that a document begins
 * there.  sentences: cuts before the sentence that holds the token.  Returns
 * the number of the document that begins at the cut.  Changes the numbers of
 * later documents and sequences, not the files.  No other thread may read
 * meanwhile. */
int64_t mtlm_indexed_dataset_cut(struct mtlm_indexed_dataset *dataset,
                                 int64_t token, bool sentences);

/* Unmaps the files.  dataset may be NULL. */
void mtlm_indexed_dataset_close(struct mtlm_indexed_dataset *dataset);

/* Returns the prefix given to open. */
const char *mtlm_indexed_dataset_prefix(
    const struct mtlm_indexed_dataset *dataset);

/* Returns the number of documents, at least 1. */
int64_t mtlm_indexed_dataset_documents(
    const struct mtlm_indexed_dataset *dataset);

/* Returns the tokens in documents first .. last - 1; 0 <= first <= last <=
 * documents.  Some documents may be empty, but not all. */
int64_t mtlm_indexed_dataset_tokens(const struct mtlm_indexed_dataset *dataset,
                                    int64_t first, int64_t last);

/* Returns the number of the document's first sequence; for document = documents
 * the number of sequences.  A document may have no sequence. */
int64_t mtlm_indexed_dataset_sequence(
    const struct mtlm_indexed_dataset *dataset, int64_t document);

/* Returns the tokens in sequences first .. last - 1. */
int64_t mtlm_indexed_dataset_sequence_tokens(
    const struct mtlm_indexed_dataset *dataset, int64_t first, int64_t last);

/* Writes tokens first .. first + n - 1, which must exist, counted from the
 * beginning of a sequence; the next sequence follows without a gap. */
void mtlm_indexed_dataset_sequence_read(
    const struct mtlm_indexed_dataset *dataset, int64_t sequence, int64_t first,
    int64_t n, int32_t *tokens);

/* Writes tokens first .. first + n - 1 of a document, which must exist. */
void mtlm_indexed_dataset_read(const struct mtlm_indexed_dataset *dataset,
                               int64_t document, int64_t first, int64_t n,
                               int32_t *tokens);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_INDEXED_DATASET_H */
