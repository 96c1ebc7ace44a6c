#ifndef MTLM_INDEXED_WRITER_H
#define MTLM_INDEXED_WRITER_H

#include <stdint.h>

#include "runtime/base/error.h"

/* Writes documents as PREFIX.bin and PREFIX.idx (see indexed_dataset.h), as
 * they come: 4 bytes of memory per sequence and 8 per document.  The files
 * appear when all is written, or not at all; what had their names before is
 * replaced.  Failures are MTLM_EXIT_IO with the file and the reason. */
struct mtlm_indexed_writer;

/* Tokens take two bytes when vocab_size is below 65500, as in Megatron, and
 * four otherwise. */
struct mtlm_indexed_writer *mtlm_indexed_writer_create(const char *prefix,
                                                       int64_t vocab_size,
                                                       struct mtlm_error *err);

/* Appends n tokens (0 .. vocab_size - 1) to the sequence begun. */
int mtlm_indexed_writer_add(struct mtlm_indexed_writer *writer,
                            const int32_t *tokens, int64_t n,
                            struct mtlm_error *err);

/* Ends the sequence, which may be empty, and begins the next one of the same
 * document. */
void mtlm_indexed_writer_end_sequence(struct mtlm_indexed_writer *writer);

/* Ends the document, which may be empty, and begins the next; ends its last
 * sequence, too, if there are tokens in it or it is the only one. */
void mtlm_indexed_writer_end_document(struct mtlm_indexed_writer *writer);

/* Tokens in the document begun, documents and sequences ended. */
int64_t mtlm_indexed_writer_pending(const struct mtlm_indexed_writer *writer);
int64_t mtlm_indexed_writer_documents(const struct mtlm_indexed_writer *writer);
int64_t mtlm_indexed_writer_sequences(const struct mtlm_indexed_writer *writer);

/* Gives both files their names.  The document begun must be empty. */
int mtlm_indexed_writer_commit(struct mtlm_indexed_writer *writer,
                               struct mtlm_error *err);

/* Removes what has not been committed.  writer may be NULL. */
void mtlm_indexed_writer_destroy(struct mtlm_indexed_writer *writer);

#endif /* MTLM_INDEXED_WRITER_H */
