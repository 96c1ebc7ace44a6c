/* Reads a long list of a JSON file, one element at a time. */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/file/json_elements.h"

/* A place in a file. */
struct cursor {
    const char *path, *data;
    int64_t at, bytes;
    int64_t line, begin; /* the line, and where it begins */
};

static void move(struct cursor *cursor, int64_t bytes)
{
    const int64_t to = cursor->at + bytes;

    for (; cursor->at < to; cursor->at++)
        if (cursor->data[cursor->at] == '\n') {
            cursor->line++;
            cursor->begin = cursor->at + 1;
        }
}

/* Moves to the next byte that is no white space and returns it; '\0' at the
 * end of the file. */
static char next_byte(struct cursor *cursor)
{
    while (cursor->at < cursor->bytes
           && strchr(" \t\r\n", cursor->data[cursor->at])
           && cursor->data[cursor->at])
        move(cursor, 1);
    return cursor->at < cursor->bytes ? cursor->data[cursor->at] : '\0';
}

static int refuse(const struct cursor *cursor, const char *expected,
                  struct mtlm_error *err)
{
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": %s%s",
        cursor->path, cursor->line, cursor->at - cursor->begin + 1, expected,
        cursor->at == cursor->bytes ? ", found the end of "
                                      "the file"
                                    : "");
}

/* Moves behind the byte. */
static int expect(struct cursor *cursor, char byte, struct mtlm_error *err)
{
    char expected[] = "expected ' '";

    expected[10] = byte;
    if (next_byte(cursor) != byte)
        return refuse(cursor, expected, err);
    move(cursor, 1);
    return 0;
}

/* Moves behind a value and returns it; NULL: error set. */
static json_t *read_value(struct cursor *cursor, struct mtlm_error *err)
{
    json_error_t why;
    json_t *value;

    next_byte(cursor);
    value = json_loadb(
        cursor->data + cursor->at, (size_t) (cursor->bytes - cursor->at),
        JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK,
        &why);
    if (value)
        move(cursor, why.position);
    else
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: line %" PRId64 ", column %" PRId64 ": %s",
                       cursor->path, cursor->line + why.line - 1,
                       why.column
                           + (why.line == 1 ? cursor->at - cursor->begin : 0),
                       why.text);
    return value;
}

/* Behind a value: whether another one follows a comma; else moves behind the
 * byte that ends the list or object.  -1: error set. */
static int another(struct cursor *cursor, char end, struct mtlm_error *err)
{
    char expected[] = "expected ',' or ' '";

    if (next_byte(cursor) == ',' || next_byte(cursor) == end) {
        const bool more = next_byte(cursor) == ',';

        move(cursor, 1);
        return more;
    }
    expected[17] = end;
    return refuse(cursor, expected, err);
}

static int take_element(struct cursor *cursor,
                        const struct mtlm_json_taker *taker,
                        struct mtlm_error *err)
{
    int64_t line;
    json_t *value;
    int rc;

    next_byte(cursor);
    line = cursor->line;
    value = read_value(cursor, err);
    rc = value ? taker->take(taker->context, value, line, err) : -1;
    json_decref(value);
    return rc;
}

static int take_list(struct cursor *cursor, const struct mtlm_json_taker *taker,
                     struct mtlm_error *err)
{
    int more = 1;

    if (expect(cursor, '[', err) < 0)
        return -1;
    if (next_byte(cursor) == ']') {
        move(cursor, 1);
        return 0;
    }
    while (more > 0)
        more = take_element(cursor, taker, err) < 0 ? -1
                                                    : another(cursor, ']', err);
    return more;
}

/* Takes a value that is not the list. */
static int take_other(struct cursor *cursor,
                      const struct mtlm_json_taker *taker, const char *key,
                      struct mtlm_error *err)
{
    json_t *value = read_value(cursor, err);
    const int rc = value ? 0 : -1;

    if (value && taker->other)
        taker->other(taker->context, key, value);
    json_decref(value);
    return rc;
}

/* Takes the value under key; *seen: the list was there. */
static int take_value(struct cursor *cursor,
                      const struct mtlm_json_taker *taker, const char *key,
                      bool *seen, struct mtlm_error *err)
{
    if (expect(cursor, ':', err) < 0)
        return -1;
    if (strcmp(key, taker->key) != 0)
        return take_other(cursor, taker, key, err);
    if (*seen)
        return refuse(cursor, "a key stands twice", err);
    *seen = true;
    return take_list(cursor, taker, err);
}

/* Takes a key and its value. */
static int take_member(struct cursor *cursor,
                       const struct mtlm_json_taker *taker, bool *seen,
                       struct mtlm_error *err)
{
    json_t *key;
    int rc;

    if (next_byte(cursor) != '"')
        return refuse(cursor, "expected a key", err);
    key = read_value(cursor, err);
    rc =
        key ? take_value(cursor, taker, json_string_value(key), seen, err) : -1;
    json_decref(key);
    return rc;
}

static int take_object(struct cursor *cursor,
                       const struct mtlm_json_taker *taker,
                       struct mtlm_error *err)
{
    bool seen = false;
    int more = 1;

    if (cursor->bytes == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty",
                              cursor->path);
    if (expect(cursor, '{', err) < 0)
        return -1;
    while (more > 0)
        more = take_member(cursor, taker, &seen, err) < 0
                   ? -1
                   : another(cursor, '}', err);
    if (more < 0)
        return -1;
    next_byte(cursor);
    if (cursor->at < cursor->bytes)
        return refuse(cursor, "expected the end of the file", err);
    return seen ? 0
                : mtlm_error_set(err, MTLM_EXIT_INPUT,
                                 "%s: line 1: the object has no \"%s\"",
                                 cursor->path, taker->key);
}

int mtlm_json_elements_read(const char *path,
                            const struct mtlm_json_taker *taker,
                            struct mtlm_error *err)
{
    struct mtlm_mapped_file file;
    int rc;

    if (mtlm_mapped_file_open(&file, path, err) < 0)
        return -1;
    rc = take_object(&(struct cursor){.path = path,
                                      .data = (const char *) file.data,
                                      .bytes = file.bytes,
                                      .line = 1},
                     taker, err);
    mtlm_mapped_file_close(&file);
    return rc;
}
