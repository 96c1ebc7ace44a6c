#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/text_writer.h"
#include "models/text/sentences.h"

/* array, or where it has been moved, with room for at least n elements of
 * that size; NULL: no memory. */
static void *make_room(void *array, size_t *room, size_t n, size_t size,
                       struct mtlm_error *err)
{
    void *more;

    if (array && n <= *room)
        return array;
    more = reallocarray(array, 2 * n + 4096, size);
    if (more)
        *room = 2 * n + 4096;
    else
        mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                       "no memory for the tokens of %zu bytes", n);
    return more;
}

static int add_tokens(struct mtlm_text_writer *t, const char *text,
                      size_t bytes, struct mtlm_error *err)
{
    int32_t *token =
        make_room(t->token, &t->token_room, bytes, sizeof(*t->token), err);
    int64_t n;

    if (!token)
        return -1;
    t->token = token;
    n = t->tokenizer->encode(text, (int64_t) bytes, t->token);
    t->tokens += n;
    return mtlm_indexed_writer_add(t->writer, t->token, n, err);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Makes white space single blanks, with one at the end; text has room for a
 * byte more.  Returns the bytes, 0 if there is nothing but white space. */
static size_t tidy(char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++) {
        if (!is_space(text[i]))
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
    const size_t n = tidy(text, bytes);

    if (n == 0)
        return 0;
    /* The last one stays open for the end of the document. */
    if (mtlm_indexed_writer_pending(t->writer) > 0)
        mtlm_indexed_writer_end_sequence(t->writer);
    return add_tokens(t, text, n, err);
}

/* All sentences but the last are followed by white space: tidy() has the room
 * that it needs. */
static int end_paragraph(struct mtlm_text_writer *t, struct mtlm_error *err)
{
    char *text = t->paragraph;
    size_t left = t->paragraph_bytes;

    t->paragraph_bytes = 0;
    while (left > 0) {
        const size_t n = mtlm_sentence_length(text, (int64_t) left);

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
    char *paragraph = make_room(t->paragraph, &t->paragraph_room,
                                t->paragraph_bytes + bytes + 1, 1, err);

    if (!paragraph)
        return -1;
    t->paragraph = paragraph;
    memcpy(t->paragraph + t->paragraph_bytes, text, bytes);
    t->paragraph_bytes += bytes;
    while (bytes > 0 && is_space(text[bytes - 1]))
        bytes--;
    return bytes == 0 ? end_paragraph(t, err) : 0;
}

int mtlm_text_writer_add(struct mtlm_text_writer *t, const char *text,
                         size_t bytes, struct mtlm_error *err)
{
    return t->split_sentences ? add_to_paragraph(t, text, bytes, err)
                              : add_tokens(t, text, bytes, err);
}

int mtlm_text_writer_end_document(struct mtlm_text_writer *t,
                                  struct mtlm_error *err)
{
    if (end_paragraph(t, err) < 0)
        return -1;
    if (mtlm_indexed_writer_pending(t->writer) == 0)
        return 0;
    if (t->append_eod) {
        t->tokens++;
        if (mtlm_indexed_writer_add(t->writer, &t->tokenizer->eod, 1, err) < 0)
            return -1;
    }
    mtlm_indexed_writer_end_document(t->writer);
    return 0;
}

void mtlm_text_writer_free(struct mtlm_text_writer *t)
{
    free(t->token);
    free(t->paragraph);
}
