/* Reads the merges of byte-pair encoding into a hash table. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "models/text/merges.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

/* A merges file during reading. */
struct merges_reader {
    struct mtlm_merges *merges;
    const struct mtlm_vocabulary *vocabulary;
    const char *path;
    const char *unit; /* what line counts: "line" or "merge" */
    int64_t line;
};

/* Two tokens of the file. */
struct pair_text {
    const char *left, *right;
    int64_t left_bytes, right_bytes;
};

static int wrong(const struct merges_reader *r, struct mtlm_error *err,
                 const char *what, const char *text, int64_t bytes)
{
    char quoted[MTLM_QUOTED_BYTES];

    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: %s %" PRId64 ": %s %s",
                          r->path, r->unit, r->line, what,
                          mtlm_vocabulary_quote(quoted, text, bytes));
}

/* Returns the token that a pair makes. */
static int32_t joined(const struct mtlm_vocabulary *v,
                      const struct pair_text *pair)
{
    const int64_t bytes = pair->left_bytes + pair->right_bytes;
    char *text;
    int32_t token;

    if (bytes > v->longest)
        return -1;
    text = mtlm_calloc((size_t) bytes, 1);
    memcpy(text, pair->left, (size_t) pair->left_bytes);
    memcpy(text + pair->left_bytes, pair->right, (size_t) pair->right_bytes);
    token = mtlm_vocabulary_find(v, text, bytes);
    free(text);
    return token;
}

static void create_table(struct mtlm_merges *merges, uint64_t slots)
{
    merges->mask = slots - 1;
    merges->merge = mtlm_calloc(slots, sizeof(*merges->merge));
    for (uint64_t i = 0; i < slots; i++)
        merges->merge[i].pair = MTLM_NO_PAIR;
}

/* Doubles the table when half is used.  The table grows with merges, not with
 * lines, which may hold anything. */
static void grow(struct mtlm_merges *merges)
{
    const struct mtlm_merges old = *merges;

    if (2 * (uint64_t) merges->n <= merges->mask)
        return;
    create_table(merges, 2 * (old.mask + 1));
    for (uint64_t i = 0; i <= old.mask; i++)
        if (old.merge[i].pair != MTLM_NO_PAIR)
            *mtlm_merges_slot(merges, old.merge[i].pair) = old.merge[i];
    free(old.merge);
}

/* shown [bytes]: the pair as in the file, for messages. */
static int take_pair(struct merges_reader *r, const struct pair_text *pair,
                     const char *shown, int64_t bytes, struct mtlm_error *err)
{
    const int32_t a = mtlm_vocabulary_find(r->vocabulary, pair->left,
                                           pair->left_bytes),
                  b = mtlm_vocabulary_find(r->vocabulary, pair->right,
                                           pair->right_bytes);
    struct mtlm_merge merge = {.pair = (uint64_t) a << 32 | (uint32_t) b,
                               .rank = (int32_t) r->merges->n,
                               .token = joined(r->vocabulary, pair)},
                      *slot;

    if (a < 0 || b < 0)
        return wrong(r, err, "the vocabulary has no token",
                     a < 0 ? pair->left : pair->right,
                     a < 0 ? pair->left_bytes : pair->right_bytes);
    if (merge.token < 0)
        return wrong(r, err, "the vocabulary has no token for the pair", shown,
                     bytes);
    slot = mtlm_merges_slot(r->merges, merge.pair);
    if (slot->pair == merge.pair)
        return wrong(r, err,
                     strcmp(r->unit, "line") == 0
                         ? "a line before it has the same pair"
                         : "a merge before it has the same pair",
                     shown, bytes);
    *slot = merge;
    r->merges->n++;
    r->merges->hash =
        XXH3_64bits_withSeed(&merge.pair, sizeof(merge.pair), r->merges->hash);
    grow(r->merges);
    return 0;
}

/* Takes a pair with a blank between its tokens. */
static int take_text(struct merges_reader *r, const char *line, int64_t bytes,
                     struct mtlm_error *err)
{
    const char *blank = memchr(line, ' ', (size_t) bytes);
    const int64_t left = blank ? blank - line : 0, right = bytes - left - 1;

    if (left == 0 || right <= 0 || memchr(blank + 1, ' ', (size_t) right))
        return wrong(r, err, "expected two tokens and a blank between, found",
                     line, bytes);
    return take_pair(r, &(struct pair_text){line, blank + 1, left, right}, line,
                     bytes, err);
}

static int take_lines(struct merges_reader *r, const char *text, int64_t bytes,
                      struct mtlm_error *err)
{
    int64_t length;

    for (int64_t at = 0; at < bytes; at += length + 1) {
        const char *line = text + at, *end = memchr(line, '\n', bytes - at);
        int64_t shown;

        r->line++;
        if (!end)
            return wrong(r, err, "the file ends within the line", line,
                         bytes - at);
        length = end - line;
        shown = length > 0 && line[length - 1] == '\r' ? length - 1 : length;
        if (r->line > 1 ? take_text(r, line, shown, err) < 0
                        : shown < 8 || memcmp(line, "#version", 8) != 0)
            return r->line > 1 ? -1
                               : wrong(r, err, "expected \"#version\", found",
                                       line, shown);
    }
    return 0;
}

int mtlm_merges_read(struct mtlm_merges *merges,
                     const struct mtlm_vocabulary *vocabulary, const char *path,
                     struct mtlm_error *err)
{
    struct merges_reader r = {.merges = merges,
                              .vocabulary = vocabulary,
                              .path = path,
                              .unit = "line"};
    struct mtlm_mapped_file file;
    int rc;

    *merges = (struct mtlm_merges){.hash = vocabulary->hash};
    if (mtlm_vocabulary_map(&file, path, err) < 0)
        return -1;
    create_table(merges, 64);
    rc = take_lines(&r, (const char *) file.data, file.bytes, err);
    mtlm_mapped_file_close(&file);
    if (rc < 0)
        mtlm_merges_free(merges);
    return rc;
}

static int take_array(struct merges_reader *r, const json_t *array,
                      struct mtlm_error *err)
{
    const char *left = json_string_value(json_array_get(array, 0));
    const char *right = json_string_value(json_array_get(array, 1));
    char *shown;
    int rc;

    if (json_array_size(array) != 2 || !left || !right || !*left || !*right)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: %s %" PRId64
                              ": expected two tokens, found another type",
                              r->path, r->unit, r->line);
    shown = mtlm_sprintf("%s %s", left, right);
    rc = take_pair(r,
                   &(struct pair_text){left, right, (int64_t) strlen(left),
                                       (int64_t) strlen(right)},
                   shown, (int64_t) strlen(shown), err);
    free(shown);
    return rc;
}

int mtlm_merges_take_json(struct mtlm_merges *merges,
                          const struct mtlm_vocabulary *vocabulary,
                          const json_t *list, const char *path,
                          struct mtlm_error *err)
{
    struct merges_reader r = {.merges = merges,
                              .vocabulary = vocabulary,
                              .path = path,
                              .unit = "merge"};
    const size_t n = json_array_size(list);
    int rc = 0;

    *merges = (struct mtlm_merges){.hash = vocabulary->hash};
    create_table(merges, 64);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *pair = json_array_get(list, i);
        const char *text = json_string_value(pair);

        r.line = (int64_t) i + 1;
        rc = text ? take_text(&r, text, (int64_t) strlen(text), err)
                  : take_array(&r, pair, err);
    }
    if (rc < 0)
        mtlm_merges_free(merges);
    return rc;
}

void mtlm_merges_free(struct mtlm_merges *merges)
{
    free(merges->merge);
    *merges = (struct mtlm_merges){0};
}
