#ifndef MTLM_TEXT_WRITER_H
#define MTLM_TEXT_WRITER_H

/* Cuts documents into texts to encode: one sequence each, or one per sentence
 * (models/text/sentences.h).  White space in sentences becomes single blanks,
 * with one at the end. */

#include <stdbool.h>
#include <stddef.h>

#include "launch/tools/encode_pool.h"
#include "runtime/base/error.h"

struct mtlm_text_writer {
    struct mtlm_encode_pool *pool;          /* borrowed */
    const struct mtlm_tokenizer *tokenizer; /* of the pool */
    bool split_sentences;

    /* private */
    size_t part_bytes; /* of the document since its last cut */
    bool line_ended;   /* the part ends with a newline */
    char *paragraph;   /* text with an open last sentence; owned */
    size_t paragraph_bytes, paragraph_room;
};

/* Appends to the current document.  With split_sentences an empty line ends the
 * last sentence.  -1: MTLM_EXIT_IO or MTLM_EXIT_RESOURCE. */
int mtlm_text_writer_add(struct mtlm_text_writer *t, const char *text,
                         size_t bytes, struct mtlm_error *err);

/* Ends the document; leaves it out if it has no tokens. */
int mtlm_text_writer_end_document(struct mtlm_text_writer *t,
                                  struct mtlm_error *err);

void mtlm_text_writer_free(struct mtlm_text_writer *t);

#endif /* MTLM_TEXT_WRITER_H */
