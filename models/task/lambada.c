/* Passages of LAMBADA. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "models/task/lambada.h"
#include "models/task/python_text.h"
#include "models/task/task_file.h"
#include "models/text/byte_order_mark.h"
#include "runtime/base/memory.h"

struct passages {
    const struct mtlm_tokenizer *tokenizer;
    const char *path;
    bool strict;
    int64_t line; /* from 1 */
    struct mtlm_scored_text *text;
};

/* Adds the tokens of words [bytes]; returns their number. */
static int64_t encode(struct passages *r, const char *words, int64_t bytes)
{
    const int64_t n =
        r->tokenizer->encode(r->tokenizer, NULL, words, bytes, false,
                             r->text->token + r->text->tokens);

    r->text->tokens += n;
    return n;
}

/* Returns where the last word of text [bytes] begins; white space does not end
 * the text. */
static int64_t find_last_word(const char *text, int64_t bytes)
{
    int64_t word = 0;

    for (int64_t at = 0; at < bytes;) {
        const int64_t space = mtlm_python_text_space(text + at, bytes - at);

        at += space ? space : 1;
        if (space)
            word = at;
    }
    return word;
}

/* Adds the tokens of a blank and the word [bytes]; returns their number. */
static int64_t encode_word(struct passages *r, const char *word, int64_t bytes)
{
    char *last = mtlm_calloc((size_t) bytes + 1, 1);
    int64_t n;

    last[0] = ' ';
    memcpy(last + 1, word, (size_t) bytes);
    n = encode(r, last, bytes + 1);
    free(last);
    return n;
}

/* Adds the tokens of a passage; returns how many are the last word's. */
static int64_t encode_strictly(struct passages *r, const char *passage,
                               int64_t bytes)
{
    int64_t word, before;

    mtlm_python_text_strip(&passage, &bytes);
    word = before = find_last_word(passage, bytes);
    if (before == 0) /* at most one word */
        return 0;
    mtlm_python_text_strip(&passage, &before);
    encode(r, passage, before);
    return encode_word(r, passage + word, bytes - word);
}

static int add_passage(struct passages *r, const char *passage, int64_t bytes,
                       struct mtlm_error *err)
{
    struct mtlm_scored_text *text = r->text;
    const int64_t begin = text->tokens;
    const int64_t scored = r->strict ? encode_strictly(r, passage, bytes)
                                     : encode(r, passage, bytes) > 1;
    const int64_t tokens = text->tokens - begin;

    if (scored == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64
                              ": expected a passage of two words or more",
                              r->path, r->line);
    if (scored > text->source.seq_length)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ": the last word has %" PRId64
                              " tokens, and --seq-length is %" PRId64,
                              r->path, r->line, scored,
                              text->source.seq_length);
    mtlm_scored_text_add(text, (struct mtlm_scored_span){
                                   begin, (int32_t) tokens, (int32_t) scored});
    return 0;
}

static int add_line(struct passages *r, const char *line, int64_t bytes,
                    struct mtlm_error *err)
{
    json_error_t why;
    json_t *object, *text;
    int rc;

    /* Integers under other keys may have more than 64 bits. */
    object = json_loadb(line, (size_t) bytes,
                        JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &why);
    if (!object)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ", column %d: %s", r->path,
                              r->line, why.column, why.text);
    text = json_object_get(object, "text");
    rc = json_is_string(text)
             ? add_passage(r, json_string_value(text),
                           (int64_t) json_string_length(text), err)
             : mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64
                              ": expected an object with a text \"text\", "
                              "found %s",
                              r->path, r->line, text ? "another type" : "none");
    json_decref(object);
    return rc;
}

static int add_lines(struct passages *r, const char *file, int64_t bytes,
                     struct mtlm_error *err)
{
    const char *const end = file + bytes;

    for (const char *line = file + mtlm_byte_order_mark(file, bytes);
         line < end;) {
        const char *stop = memchr(line, '\n', (size_t) (end - line));
        const char *object = line;
        int64_t n = (stop ? stop : end) - line;

        line = stop ? stop + 1 : end;
        r->line++;
        mtlm_python_text_strip(&object, &n);
        if (n > 0 && add_line(r, object, n, err) < 0)
            return -1;
    }
    if (r->text->samples > 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: expected an object {\"text\": PASSAGE} in each "
                          "line, found none",
                          r->path);
}

struct mtlm_scored_text *mtlm_lambada_read(
    const struct mtlm_tokenizer *tokenizer, const char *path,
    int64_t seq_length, bool strict, struct mtlm_error *err)
{
    struct passages r = {
        .tokenizer = tokenizer, .path = path, .strict = strict};
    struct mtlm_mapped_file file;
    int rc;

    if (mtlm_task_file_read(&file, path, err) < 0)
        return NULL;
    /* A passage has fewer bytes than its line, so fewer tokens. */
    r.text = mtlm_scored_text_create(
        seq_length, tokenizer->eod, file.bytes,
        1 + mtlm_task_file_lines((const char *) file.data, file.bytes));
    rc = add_lines(&r, (const char *) file.data, file.bytes, err);
    mtlm_scored_text_end(r.text);
    mtlm_mapped_file_close(&file);
    if (rc == 0)
        return r.text;
    mtlm_samples_destroy(&r.text->source);
    return NULL;
}
