#ifndef MTLM_TEXT_WRITER_H
#define MTLM_TEXT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "models/text/indexed_writer.h"
#include "models/text/tokenizer.h"
#include "runtime/error.h"

/* Writes documents of text as tokens: each as one sequence, or one for each
 * of its sentences (models/text/sentences.h).  Sentences have single blanks
 * for white space and one at the end, so that words stay apart where they
 * are put together. */
struct mtlm_text_writer {
    struct mtlm_indexed_writer *writer; /* borrowed */
    const struct mtlm_tokenizer *tokenizer;
    bool split_sentences;
    bool append_eod; /* end each document with the tokenizer's token for it */
    int64_t tokens;  /* written so far */

    /* private: memory that mtlm_text_writer_free() gives back */
    int32_t *token;
    size_t token_room;
    char *paragraph; /* text whose last sentence may go on */
    size_t paragraph_bytes, paragraph_room;
};

/* Appends to the document begun.  Where sentences are told apart, text that
 * ends with an empty line (or is one) ends the last one.  Errors:
 * MTLM_EXIT_IO, or MTLM_EXIT_RESOURCE for want of memory. */
int mtlm_text_writer_add(struct mtlm_text_writer *t, const char *text,
                         size_t bytes, struct mtlm_error *err);

/* Ends the document, which is left out if it has no text. */
int mtlm_text_writer_end_document(struct mtlm_text_writer *t,
                                  struct mtlm_error *err);

void mtlm_text_writer_free(struct mtlm_text_writer *t);

#endif /* MTLM_TEXT_WRITER_H */
