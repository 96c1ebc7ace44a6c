#ifndef MTLM_INDEXED_WRITER_H
#define MTLM_INDEXED_WRITER_H

#include <stdint.h>

#include "runtime/base/error.h"

/* Writes documents to PREFIX.bin and PREFIX.idx (indexed_dataset.h) as they
 * come. Both files appear at commit, whole or not at all, and replace older
 * ones.  A failed commit leaves the older ones, as far as the system lets
 * mtlm_output_file_publish_pair() do that.  Failures are MTLM_EXIT_IO with file
 * and reason.  Memory: 4 bytes per sequence and 8 per document. */
struct mtlm_indexed_writer;

/* Begins both files; the caller destroys the writer.  A token takes two bytes
 * for a vocab_size below 65500, as in Megatron, otherwise four. */
struct mtlm_indexed_writer *mtlm_indexed_writer_create(const char *prefix,
                                                       int64_t vocab_size,
                                                       struct mtlm_error *err);

/* Appends n tokens, each 0 .. vocab_size - 1, to the open sequence. */
int mtlm_indexed_writer_add(struct mtlm_indexed_writer *writer,
                            const int32_t *tokens, int64_t n,
                            struct mtlm_error *err);

/* Ends the open sequence, perhaps empty, and begins the next of the same
 * document. */
void mtlm_indexed_writer_end_sequence(struct mtlm_indexed_writer *writer);

/* Ends the open document, perhaps empty, and begins the next.  Ends the open
 * sequence, too, if it has tokens or is the document's only one. */
void mtlm_indexed_writer_end_document(struct mtlm_indexed_writer *writer);

/* Returns the number of tokens in the open document. */
int64_t mtlm_indexed_writer_pending(const struct mtlm_indexed_writer *writer);

/* Returns the number of ended documents. */
int64_t mtlm_indexed_writer_documents(const struct mtlm_indexed_writer *writer);

/* Returns the number of ended sequences. */
int64_t mtlm_indexed_writer_sequences(const struct mtlm_indexed_writer *writer);

/* Makes the commit ask, before it gives the files their names, whether to stop:
 * stopped() returns 0, or -1 with err. */
void mtlm_indexed_writer_stop(struct mtlm_indexed_writer *writer,
                              int (*stopped)(struct mtlm_error *err));

/* Gives both files their names.  The open document must be empty.  Fails as
 * stopped(), too. */
int mtlm_indexed_writer_commit(struct mtlm_indexed_writer *writer,
                               struct mtlm_error *err);

/* Removes uncommitted files.  writer may be NULL. */
void mtlm_indexed_writer_destroy(struct mtlm_indexed_writer *writer);

#endif /* MTLM_INDEXED_WRITER_H */
