/* Reads vocabulary files and looks up tokens. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>
#include <xxhash.h>

#include "models/text/vocabulary.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

int mtlm_vocabulary_map(struct mtlm_mapped_file *file, const char *path,
                        struct mtlm_error *err)
{
    int64_t bytes;

    if (mtlm_mapped_file_open(file, path, err) < 0)
        return -1;
    bytes = file->bytes;
    if (bytes > 0 && bytes <= MTLM_VOCABULARY_MOST_BYTES)
        return 0;
    mtlm_mapped_file_close(file);
    return bytes == 0
               ? mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty",
                                path)
               : mtlm_error_set(err, MTLM_EXIT_INPUT,
                                "%s: %" PRId64 " bytes are too many for a "
                                "vocabulary, expected at most %d",
                                path, bytes, (int) MTLM_VOCABULARY_MOST_BYTES);
}

const char *mtlm_vocabulary_quote(char out[MTLM_QUOTED_BYTES], const char *text,
                                  int64_t bytes)
{
    const int64_t some = bytes < 40 ? bytes : 40;
    char *p = out;

    *p++ = '"';
    for (int64_t i = 0; i < some; i++) {
        const unsigned char c = text[i];

        p += sprintf(p, c > ' ' && c < 127 ? "%c" : "\\x%02x", c);
    }
    strcpy(p, bytes > some ? "..\"" : "\"");
    return out;
}

static const char *quote_token(char out[MTLM_QUOTED_BYTES],
                               const struct mtlm_vocabulary *v, int64_t i)
{
    return mtlm_vocabulary_quote(out, v->text + v->begin[i],
                                 v->begin[i + 1] - v->begin[i]);
}

/* Returns the slot of a token: its own, or a free one. */
static int32_t *find_slot(const struct mtlm_vocabulary *v, const char *text,
                          int64_t bytes)
{
    uint64_t i = XXH3_64bits(text, (size_t) bytes) & v->mask;

    for (; v->slot[i] >= 0; i = (i + 1) & v->mask) {
        const int64_t *begin = v->begin + v->slot[i];

        if (begin[1] - begin[0] == bytes
            && memcmp(v->text + begin[0], text, (size_t) bytes) == 0)
            break;
    }
    return &v->slot[i];
}

int32_t mtlm_vocabulary_find(const struct mtlm_vocabulary *v, const char *text,
                             int64_t bytes)
{
    return *find_slot(v, text, bytes);
}

/* Enters all tokens.  Returns the number of the first duplicate, with the
 * number of its original in *first; -1: no duplicate. */
static int64_t enter_all(struct mtlm_vocabulary *v, int32_t *first)
{
    uint64_t slots = 64;

    v->hash =
        XXH3_64bits_withSeed(v->begin, ((size_t) v->n + 1) * sizeof(*v->begin),
                             XXH3_64bits(v->text, (size_t) v->begin[v->n]));
    while (slots < 2 * (uint64_t) v->n)
        slots *= 2;
    v->mask = slots - 1;
    v->slot = mtlm_calloc(slots, sizeof(*v->slot));
    memset(v->slot, -1, slots * sizeof(*v->slot));
    for (int64_t i = 0; i < v->n; i++) {
        const int64_t bytes = v->begin[i + 1] - v->begin[i];
        int32_t *slot = find_slot(v, v->text + v->begin[i], bytes);

        if (*slot >= 0) {
            *first = *slot;
            return i;
        }
        *slot = (int32_t) i;
        if (bytes > v->longest)
            v->longest = bytes;
    }
    return -1;
}

/* Returns the keys of an object by number; NULL: error set. */
static const char **keys_by_number(const json_t *object, const char *path,
                                   struct mtlm_error *err)
{
    const int64_t n = (int64_t) json_object_size(object);
    const char **key = mtlm_calloc((size_t) n, sizeof(*key));
    char quoted[2][MTLM_QUOTED_BYTES];
    const char *text;
    json_t *value;

    json_object_foreach((json_t *) object, text, value)
    {
        const int64_t i =
            json_is_integer(value) ? json_integer_value(value) : -1;

        mtlm_vocabulary_quote(quoted[0], text, (int64_t) strlen(text));
        if (!*text)
            mtlm_error_set(err, MTLM_EXIT_INPUT,
                           "%s: one of the tokens is empty", path);
        else if (i < 0 || i >= n)
            mtlm_error_set(err, MTLM_EXIT_INPUT,
                           "%s: token %s: expected a number from 0 to %" PRId64
                           ", one for each token, found %s",
                           path, quoted[0], n - 1,
                           json_is_integer(value) ? "another"
                                                  : "something else");
        else if (key[i])
            mtlm_error_set(err, MTLM_EXIT_INPUT,
                           "%s: tokens %s and %s both have number %" PRId64,
                           path,
                           mtlm_vocabulary_quote(quoted[1], key[i],
                                                 (int64_t) strlen(key[i])),
                           quoted[0], i);
        else {
            key[i] = text;
            continue;
        }
        free(key);
        return NULL;
    }
    return key;
}

int mtlm_vocabulary_take_json(struct mtlm_vocabulary *v, const json_t *object,
                              const char *path, struct mtlm_error *err)
{
    const char **key;
    int32_t first;

    *v = (struct mtlm_vocabulary){0};
    if (!json_is_object(object) || json_object_size(object) == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: expected a JSON object of tokens and their "
                              "numbers",
                              path);
    key = keys_by_number(object, path, err);
    if (!key)
        return -1;
    v->n = (int64_t) json_object_size(object);
    v->begin = mtlm_calloc((size_t) v->n + 1, sizeof(*v->begin));
    for (int64_t i = 0; i < v->n; i++)
        v->begin[i + 1] = v->begin[i] + (int64_t) strlen(key[i]);
    v->text = mtlm_calloc((size_t) v->begin[v->n], 1);
    for (int64_t i = 0; i < v->n; i++)
        memcpy(v->text + v->begin[i], key[i],
               (size_t) (v->begin[i + 1] - v->begin[i]));
    free(key);
    enter_all(v, &first); /* keys of an object differ */
    return 0;
}

int mtlm_vocabulary_read_json(struct mtlm_vocabulary *v, const char *path,
                              struct mtlm_error *err)
{
    struct mtlm_mapped_file file;
    json_t *object;
    int rc;

    *v = (struct mtlm_vocabulary){0};
    if (mtlm_vocabulary_map(&file, path, err) < 0)
        return -1;
    object = mtlm_json_file_parse(&file, err);
    rc = object ? mtlm_vocabulary_take_json(v, object, path, err) : -1;
    json_decref(object);
    mtlm_mapped_file_close(&file);
    return rc;
}

/* Returns the bytes of valid UTF-8 at the beginning of text. */
static int64_t valid_bytes(const char *text, int64_t bytes)
{
    int64_t i = 0;

    while (i < bytes) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t n = utf8proc_iterate(
            (const utf8proc_uint8_t *) text + i, bytes - i, &c);

        if (n <= 0 || c == 0)
            break;
        i += n;
    }
    return i;
}

/* Takes the lines of text, the contents of the file. */
static int take_lines(struct mtlm_vocabulary *v, const char *text,
                      int64_t bytes, const char *path, struct mtlm_error *err)
{
    size_t room = 0;

    v->text = mtlm_calloc((size_t) bytes, 1);
    for (int64_t at = 0; at < bytes;) {
        const char *line = text + at, *end = memchr(line, '\n', bytes - at);
        int64_t length = end ? end - line : bytes - at, valid;

        at += length + 1;
        if (length > 0 && line[length - 1] == '\r')
            length--;
        valid = valid_bytes(line, length);
        if (length == 0 || valid < length)
            return mtlm_error_set(
                err, MTLM_EXIT_INPUT,
                "%s: line %" PRId64 ", offset %" PRId64
                ": expected a token in UTF-8, found %s",
                path, v->n + 1, (int64_t) (line - text) + valid,
                length == 0 ? "an empty line" : "other bytes");
        v->begin = mtlm_make_room(v->begin, &room, v->n + 2, sizeof(*v->begin));
        v->begin[0] = 0;
        memcpy(v->text + v->begin[v->n], line, (size_t) length);
        v->begin[v->n + 1] = v->begin[v->n] + length;
        v->n++;
    }
    return 0;
}

int mtlm_vocabulary_read_lines(struct mtlm_vocabulary *v, const char *path,
                               struct mtlm_error *err)
{
    struct mtlm_mapped_file file;
    char quoted[MTLM_QUOTED_BYTES];
    int64_t again;
    int32_t first = 0;
    int rc;

    *v = (struct mtlm_vocabulary){0};
    if (mtlm_vocabulary_map(&file, path, err) < 0)
        return -1;
    rc = take_lines(v, (const char *) file.data, file.bytes, path, err);
    mtlm_mapped_file_close(&file);
    again = rc < 0 ? -1 : enter_all(v, &first);
    if (again >= 0)
        rc = mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: line %" PRId64 ": token %s stands in line %d already", path,
            again + 1, quote_token(quoted, v, again), first + 1);
    if (rc < 0)
        mtlm_vocabulary_free(v);
    return rc;
}

void mtlm_vocabulary_free(struct mtlm_vocabulary *v)
{
    free(v->begin);
    free(v->text);
    free(v->slot);
    *v = (struct mtlm_vocabulary){0};
}
