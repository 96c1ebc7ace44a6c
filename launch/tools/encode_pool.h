#ifndef MTLM_ENCODE_POOL_H
#define MTLM_ENCODE_POOL_H

/* Threads that encode text, and write the tokens in the order of the text: the
 * files do not depend on the number of threads.  The calling thread writes. */

#include <stdbool.h>
#include <stddef.h>

#include "models/text/indexed_writer.h"
#include "models/text/tokenizer.h"
#include "runtime/base/error.h"

struct mtlm_encode_pool;

enum { MTLM_ENCODE_MOST_WORKERS = 1024 };

/* tokenizer and writer are borrowed.  append_eod: each document ends with the
 * tokenizer's end-of-document token. */
struct mtlm_encode_pool *mtlm_encode_pool_create(
    const struct mtlm_tokenizer *tokenizer, struct mtlm_indexed_writer *writer,
    int workers, bool append_eod);

/* Appends to the current text.  -1, here and below: MTLM_EXIT_IO or
 * MTLM_EXIT_RESOURCE. */
int mtlm_encode_pool_add(struct mtlm_encode_pool *pool, const char *text,
                         size_t bytes, struct mtlm_error *err);

/* Ends the current text: another part of it follows (encode() in
 * models/text/tokenizer.h), or the next sequence of the document, or the next
 * document.  Sequences and documents without tokens are left out. */
enum mtlm_encode_end {
    MTLM_ENCODE_PART,
    MTLM_ENCODE_SEQUENCE,
    MTLM_ENCODE_DOCUMENT
};
int mtlm_encode_pool_end(struct mtlm_encode_pool *pool,
                         enum mtlm_encode_end end, struct mtlm_error *err);

/* Waits until all ended texts are written.  MTLM_EXIT_INTERRUPTED: a signal
 * came. */
int mtlm_encode_pool_finish(struct mtlm_encode_pool *pool,
                            struct mtlm_error *err);

/* Returns the number of tokens written. */
int64_t mtlm_encode_pool_tokens(const struct mtlm_encode_pool *pool);

/* Stops the threads and frees pool; NULL is allowed. */
void mtlm_encode_pool_destroy(struct mtlm_encode_pool *pool);

#endif /* MTLM_ENCODE_POOL_H */
