/* Cuts documents into sequences, parts and sentences. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/tools/text_writer.h"
#include "models/text/sentences.h"
#include "runtime/base/blank.h"
#include "runtime/base/memory.h"

enum { PART_BYTES = 64 << 10 };

/* Replaces each run of white space by one blank, and ends text with a blank.
 * text has room for one more byte.  Returns the new number of bytes; 0: text is
 * only white space. */
static size_t squeeze_spaces(char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++) {
        if (!mtlm_is_space(text[i]))
            text[n++] = text[i];
        else if (n > 0 && text[n - 1] != ' ')
            text[n++] = ' ';
    }
    if (n > 0 && text[n - 1] != ' ')
        text[n++] = ' ';
    return n;
}

static int add_sentence(struct mtlm_text_writer *t, char *text, size_t bytes,
                        struct mtlm_error *err)
{
    const size_t n = squeeze_spaces(text, bytes);

    if (n == 0)
        return 0;
    return mtlm_encode_pool_add(t->pool, text, n, err) < 0
               ? -1
               : mtlm_encode_pool_end(t->pool, MTLM_ENCODE_SEQUENCE, err);
}

/* All sentences but the last are followed by white space: squeeze_spaces() has
 * its room. */
static int end_paragraph(struct mtlm_text_writer *t, struct mtlm_error *err)
{
    char *text = t->paragraph;
    size_t left = t->paragraph_bytes;

    t->paragraph_bytes = 0;
    while (left > 0) {
        const size_t n = mtlm_sentences_length(text, (int64_t) left);

        if (add_sentence(t, text, n, err) < 0)
            return -1;
        text += n;
        left -= n;
    }
    return 0;
}

static int add_to_paragraph(struct mtlm_text_writer *t, const char *text,
                            size_t bytes, struct mtlm_error *err)
{
    const size_t n = t->paragraph_bytes + bytes + 1;
    char *paragraph = mtlm_grow(t->paragraph, &t->paragraph_room, n, 1);

    if (!paragraph)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "no memory for a paragraph of %zu bytes", n);
    t->paragraph = paragraph;
    memcpy(t->paragraph + t->paragraph_bytes, text, bytes);
    t->paragraph_bytes += bytes;
    while (bytes > 0 && mtlm_is_space(text[bytes - 1]))
        bytes--;
    return bytes == 0 ? end_paragraph(t, err) : 0;
}

/* Adds a line.  Cuts a long document before the line if the cut does not change
 * tokens. */
static int add_line(struct mtlm_text_writer *t, const char *text, size_t bytes,
                    struct mtlm_error *err)
{
    if (bytes == 0)
        return 0;
    if (t->part_bytes >= PART_BYTES && t->line_ended
        && !mtlm_tokenizer_joins(t->tokenizer, text, (int64_t) bytes)) {
        if (mtlm_encode_pool_end(t->pool, MTLM_ENCODE_PART, err) < 0)
            return -1;
        t->part_bytes = 0;
    }
    t->part_bytes += bytes;
    t->line_ended = text[bytes - 1] == '\n';
    return mtlm_encode_pool_add(t->pool, text, bytes, err);
}

int mtlm_text_writer_add(struct mtlm_text_writer *t, const char *text,
                         size_t bytes, struct mtlm_error *err)
{
    return t->split_sentences ? add_to_paragraph(t, text, bytes, err)
                              : add_line(t, text, bytes, err);
}

int mtlm_text_writer_end_document(struct mtlm_text_writer *t,
                                  struct mtlm_error *err)
{
    t->part_bytes = 0;
    return end_paragraph(t, err) < 0
               ? -1
               : mtlm_encode_pool_end(t->pool, MTLM_ENCODE_DOCUMENT, err);
}

void mtlm_text_writer_free(struct mtlm_text_writer *t)
{
    free(t->paragraph);
}
