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
    int64_t line;
};

static int wrong(const struct merges_reader *r, struct mtlm_error *err,
                 const char *what, const char *text, int64_t bytes)
{
    char quoted[MTLM_QUOTED_BYTES];

    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: line %" PRId64 ": %s %s",
                          r->path, r->line, what,
                          mtlm_vocabulary_quote(quoted, text, bytes));
}

/* Returns the token that a line "left right" makes. */
static int32_t joined(const struct mtlm_vocabulary *v, const char *line,
                      int64_t left, int64_t right)
{
    char *text;
    int32_t token;

    if (left + right > v->longest)
        return -1;
    text = mtlm_calloc((size_t) (left + right), 1);
    memcpy(text, line, (size_t) left);
    memcpy(text + left, line + left + 1, (size_t) right);
    token = mtlm_vocabulary_find(v, text, left + right);
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

static int take_pair(struct merges_reader *r, const char *line, int64_t bytes,
                     struct mtlm_error *err)
{
    const char *blank = memchr(line, ' ', (size_t) bytes);
    const int64_t left = blank ? blank - line : 0, right = bytes - left - 1;
    struct mtlm_merge merge, *slot;
    int32_t a, b;

    if (left == 0 || right <= 0 || memchr(blank + 1, ' ', (size_t) right))
        return wrong(r, err, "expected two tokens and a blank between, found",
                     line, bytes);
    a = mtlm_vocabulary_find(r->vocabulary, line, left);
    b = mtlm_vocabulary_find(r->vocabulary, blank + 1, right);
    if (a < 0 || b < 0)
        return wrong(r, err, "the vocabulary has no token",
                     a < 0 ? line : blank + 1, a < 0 ? left : right);
    merge =
        (struct mtlm_merge){.pair = (uint64_t) a << 32 | (uint32_t) b,
                            .rank = (int32_t) r->merges->n,
                            .token = joined(r->vocabulary, line, left, right)};
    if (merge.token < 0)
        return wrong(r, err, "the vocabulary has no token for the pair", line,
                     bytes);
    slot = mtlm_merges_slot(r->merges, merge.pair);
    if (slot->pair == merge.pair)
        return wrong(r, err, "a line before it has the same pair", line, bytes);
    *slot = merge;
    r->merges->n++;
    r->merges->hash =
        XXH3_64bits_withSeed(&merge.pair, sizeof(merge.pair), r->merges->hash);
    grow(r->merges);
    return 0;
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
        if (r->line > 1 ? take_pair(r, line, shown, err) < 0
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
    struct merges_reader r = {
        .merges = merges, .vocabulary = vocabulary, .path = path};
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

void mtlm_merges_free(struct mtlm_merges *merges)
{
    free(merges->merge);
    *merges = (struct mtlm_merges){0};
}
