#ifndef MTLM_TEXT_WRITER_H
#define MTLM_TEXT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/tools/encode_pool.h"
#include "runtime/base/error.h"

/* Cuts documents into texts to be encoded: each is one sequence, or one for
 * each of its sentences (models/text/sentences.h).  Sentences have single
 * blanks for white space and one at the end, so that words stay apart where
 * they are put together. */
struct mtlm_text_writer {
    struct mtlm_encode_pool *pool; /* borrowed */
    bool split_sentences;

    /* private */
    size_t part_bytes; /* of the document since it has been cut */
    bool line_ended;   /* they end with a line */
    char *paragraph;   /* text whose last sentence may go on; owned */
    size_t paragraph_bytes, paragraph_room;
};

/* Appends to the document begun.  Where sentences are told apart, text that
 * ends with an empty line (or is one) ends the last one.  Errors:
 * MTLM_EXIT_IO, or MTLM_EXIT_RESOURCE for want of memory. */
int mtlm_text_writer_add(struct mtlm_text_writer *t, const char *text,
                         size_t bytes, struct mtlm_error *err);

/* Ends the document, which is left out if it has no tokens. */
int mtlm_text_writer_end_document(struct mtlm_text_writer *t,
                                  struct mtlm_error *err);

void mtlm_text_writer_free(struct mtlm_text_writer *t);

#endif /* MTLM_TEXT_WRITER_H */
