/* Reads Megatron's PREFIX.bin and PREFIX.idx, and checks them completely. */

#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/text/indexed_private.h"
#include "runtime/base/memory.h"

/* PREFIX.idx during its check. */
struct idx {
    struct mtlm_mapped_file file;
    uint64_t sequences, bounds;
    int64_t pointers_at, bounds_at; /* offsets of the arrays */
};

/* The arrays begin at byte 34 and are not aligned. */
static int32_t load_i32(const struct idx *idx, int64_t at)
{
    int32_t value;

    memcpy(&value, idx->file.data + at, sizeof(value));
    return value;
}

static int64_t load_i64(const struct idx *idx, int64_t at)
{
    int64_t value;

    memcpy(&value, idx->file.data + at, sizeof(value));
    return value;
}

static int bad_i64(const struct idx *idx, int64_t at, const char *what,
                   int64_t expected, int64_t found, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: offset %" PRId64 ": %s, expected %" PRId64
                          ", found %" PRId64,
                          idx->file.path, at, what, expected, found);
}

static bool exists(const char *prefix, const char *middle, const char *suffix)
{
    char *path = mtlm_sprintf("%s%s%s", prefix, middle, suffix);
    const bool is = access(path, F_OK) == 0;

    free(path);
    return is;
}

char *mtlm_indexed_dataset_find(const char *prefix, bool sentences)
{
    static const char *const endings[] = {"", "_text_document",
                                          "_text_sentence"};

    for (int i = 0; i < 3; i++)
        if (!(sentences && i == 1) && exists(prefix, endings[i], ".idx"))
            return mtlm_sprintf("%s%s", prefix, endings[i]);
    return NULL;
}

/* Opens one of the two files; when missing, the prefix is probably wrong. */
static int open_file(struct mtlm_mapped_file *file, const char *prefix,
                     const char *suffix, struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s%s", prefix, suffix);
    const char *longer =
        exists(prefix, "_text_document", suffix)   ? "_text_document"
        : exists(prefix, "_text_sentence", suffix) ? "_text_sentence"
                                                   : NULL;
    int rc = 0;

    if (!exists(prefix, "", suffix))
        rc = mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "no file %s: data at a prefix are PREFIX.idx and "
            "PREFIX.bin, looked for %s.idx and %s.bin%s%s%s%s",
            path, prefix, prefix, longer ? "; did you mean " : "",
            longer ? prefix : "", longer ? longer : "", longer ? "?" : "");
    else
        rc = mtlm_mapped_file_open(file, path, err);
    free(path);
    return rc;
}

static int check_sizes(struct idx *idx, struct mtlm_error *err)
{
    const uint64_t bytes = idx->file.bytes;
    const char *path = idx->file.path;
    uint64_t per_sequence, per_bound, need;

    idx->sequences = load_i64(idx, MTLM_IDX_SEQUENCES_AT);
    idx->bounds = load_i64(idx, MTLM_IDX_BOUNDS_AT);
    if (__builtin_mul_overflow(idx->sequences, 12, &per_sequence)
        || __builtin_mul_overflow(idx->bounds, 8, &per_bound)
        || __builtin_add_overflow(per_sequence, per_bound, &need)
        || __builtin_add_overflow(need, MTLM_IDX_HEADER_BYTES, &need)
        || need > bytes || (need < bytes && bytes - need != idx->sequences))
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: offset %d: %" PRIu64 " sequences and %" PRIu64
            " document bounds, expected a file of 34 + 12 x sequences + 8 x "
            "bounds bytes, found %" PRIu64 " bytes",
            path, MTLM_IDX_SEQUENCES_AT, idx->sequences, idx->bounds, bytes);
    if (idx->sequences == 0 || idx->bounds < 2)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset %d: expected at least 1 sequence and "
                              "2 document bounds, found %" PRIu64
                              " and %" PRIu64 ": the data set is empty",
                              path, MTLM_IDX_SEQUENCES_AT, idx->sequences,
                              idx->bounds);
    idx->pointers_at = MTLM_IDX_HEADER_BYTES + 4 * idx->sequences;
    idx->bounds_at = MTLM_IDX_HEADER_BYTES + per_sequence;
    return 0;
}

static int check_header(struct mtlm_indexed_dataset *dataset, struct idx *idx,
                        struct mtlm_error *err)
{
    const char *path = idx->file.path;

    if (idx->file.bytes < MTLM_IDX_HEADER_BYTES)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset 0: header, expected %d bytes, found "
                              "a file of %" PRId64,
                              path, MTLM_IDX_HEADER_BYTES, idx->file.bytes);
    if (memcmp(idx->file.data, MTLM_IDX_MAGIC, MTLM_IDX_MAGIC_BYTES) != 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset 0: magic, expected \"MMIDIDX\", "
                              "found another kind of file",
                              path);
    if (load_i64(idx, MTLM_IDX_VERSION_AT) != MTLM_IDX_VERSION)
        return bad_i64(idx, MTLM_IDX_VERSION_AT, "version", MTLM_IDX_VERSION,
                       load_i64(idx, MTLM_IDX_VERSION_AT), err);
    dataset->dtype = idx->file.data[MTLM_IDX_DTYPE_AT];
    dataset->token_bytes = mtlm_idx_dtype_bytes(dataset->dtype);
    if (!dataset->token_bytes)
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: offset %d: type of the tokens, expected an integer (1 u8, 2 "
            "i8, 3 i16, 4 i32, 5 i64, 8 u16), found %d%s",
            path, MTLM_IDX_DTYPE_AT, (int) dataset->dtype,
            dataset->dtype == MTLM_IDX_F64 || dataset->dtype == MTLM_IDX_F32
                ? " (floating point)"
                : "");
    return check_sizes(idx, err);
}

/* Checks the lengths and pointers and fills dataset->start; *at becomes the
 * byte of the .bin where the sequences end. */
static int check_sequences(struct mtlm_indexed_dataset *dataset,
                           const struct idx *idx, int64_t *at,
                           struct mtlm_error *err)
{
    const int64_t bytes = dataset->bin.bytes;

    *at = 0;
    for (int64_t i = 0; i < dataset->sequences; i++) {
        const int64_t length_at = MTLM_IDX_HEADER_BYTES + 4 * i;
        const int32_t length = load_i32(idx, length_at);
        const int64_t pointer = load_i64(idx, idx->pointers_at + 8 * i);
        const int64_t size = (int64_t) length * dataset->token_bytes;

        if (pointer != *at)
            return bad_i64(idx, idx->pointers_at + 8 * i,
                           "byte where a sequence begins", *at, pointer, err);
        if (length < 0 || size > bytes - *at)
            return mtlm_error_set(
                err, MTLM_EXIT_INPUT,
                "%s: offset %" PRId64 ": length of sequence %" PRId64
                ", expected at most %" PRId64 " tokens (what %s holds of it), "
                "found %" PRId32,
                idx->file.path, length_at, i,
                (bytes - *at) / dataset->token_bytes, dataset->bin.path,
                length);
        *at += size;
        dataset->start[i + 1] = *at / dataset->token_bytes;
    }
    return 0;
}

/* Checks the document bounds and fills dataset->bound. */
static int check_documents(struct mtlm_indexed_dataset *dataset,
                           const struct idx *idx, struct mtlm_error *err)
{
    const int64_t sequences = dataset->sequences;
    const int64_t documents = dataset->documents;
    int64_t bound = load_i64(idx, idx->bounds_at);

    if (bound != 0)
        return bad_i64(idx, idx->bounds_at, "first document bound", 0, bound,
                       err);
    for (int64_t d = 0; d < documents; d++) {
        const int64_t next_at = idx->bounds_at + 8 * (d + 1);
        const int64_t next = load_i64(idx, next_at);

        if (next < bound || next > sequences)
            return mtlm_error_set(
                err, MTLM_EXIT_INPUT,
                "%s: offset %" PRId64 ": document bound %" PRId64
                ", expected %" PRId64 " .. %" PRId64 ", found %" PRId64,
                idx->file.path, next_at, d + 1, bound, sequences, next);
        bound = next;
        dataset->bound[d + 1] = bound;
    }
    if (bound != sequences)
        return bad_i64(idx, idx->bounds_at + 8 * documents,
                       "last document bound", sequences, bound, err);
    return 0;
}

/* Checks the arrays, loading each value once: the file may change meanwhile. */
static int check_arrays(struct mtlm_indexed_dataset *dataset,
                        const struct idx *idx, struct mtlm_error *err)
{
    int64_t at;

    dataset->documents = idx->bounds - 1;
    dataset->sequences = idx->sequences;
    dataset->start =
        mtlm_calloc(dataset->sequences + 1, sizeof(*dataset->start));
    dataset->bound =
        mtlm_calloc(dataset->documents + 1, sizeof(*dataset->bound));
    if (check_sequences(dataset, idx, &at, err) < 0
        || check_documents(dataset, idx, err) < 0)
        return -1;
    if (at != dataset->bin.bytes)
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: offset %" PRId64 ": end of the file, "
            "expected here (%s lists %" PRId64 " tokens), found at %" PRId64,
            dataset->bin.path, at, idx->file.path,
            dataset->start[dataset->sequences], dataset->bin.bytes);
    if (at == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: expected at least 1 token, found 0: the "
                              "data set is empty",
                              dataset->bin.path);
    return 0;
}

/* Copies tokens; a value beyond 32 bits becomes -1.  Tokens are aligned to
 * their size: the map begins at a page, and sequences have no gaps. */
static void convert(const struct mtlm_indexed_dataset *dataset, int64_t first,
                    int64_t n, int32_t *tokens)
{
    const void *from = dataset->bin.data + first * dataset->token_bytes;

    switch (dataset->dtype) {
    case MTLM_IDX_U8:
        for (int64_t i = 0; i < n; i++)
            tokens[i] = ((const uint8_t *) from)[i];
        break;
    case MTLM_IDX_I8:
        for (int64_t i = 0; i < n; i++)
            tokens[i] = ((const int8_t *) from)[i];
        break;
    case MTLM_IDX_I16:
        for (int64_t i = 0; i < n; i++)
            tokens[i] = ((const int16_t *) from)[i];
        break;
    case MTLM_IDX_U16:
        for (int64_t i = 0; i < n; i++)
            tokens[i] = ((const uint16_t *) from)[i];
        break;
    case MTLM_IDX_I32:
        memcpy(tokens, from, n * sizeof(*tokens));
        break;
    case MTLM_IDX_I64:
        for (int64_t i = 0; i < n; i++) {
            const int64_t token = ((const int64_t *) from)[i];

            tokens[i] = token < 0 || token > INT32_MAX ? -1 : (int32_t) token;
        }
        break;
    default:
        assert(!"a type that open refuses");
    }
}

/* Returns the token at a position, as in the file. */
static int64_t raw_token(const struct mtlm_indexed_dataset *dataset,
                         int64_t position)
{
    int32_t token;

    if (dataset->dtype == MTLM_IDX_I64)
        return ((const int64_t *) dataset->bin.data)[position];
    convert(dataset, position, 1, &token);
    return token;
}

static int check_tokens(const struct mtlm_indexed_dataset *dataset,
                        int64_t vocab_size, struct mtlm_error *err)
{
    const int64_t all = dataset->start[dataset->sequences];
    const uint32_t limit = vocab_size > 0 && vocab_size <= INT32_MAX
                               ? (uint32_t) vocab_size
                               : (uint32_t) INT32_MAX + 1;
    int32_t tokens[4096];

    for (int64_t first = 0; first < all; first += 4096) {
        const int64_t n = all - first < 4096 ? all - first : 4096;
        uint32_t largest = 0; /* a negative token counts as huge */

        convert(dataset, first, n, tokens);
        for (int64_t i = 0; i < n; i++)
            largest =
                largest > (uint32_t) tokens[i] ? largest : (uint32_t) tokens[i];
        for (int64_t i = 0; largest >= limit && i < n; i++)
            if ((uint32_t) tokens[i] >= limit)
                return mtlm_error_set(
                    err, MTLM_EXIT_INPUT,
                    "%s: offset %" PRId64 ": token %" PRId64
                    ", expected 0 .. %" PRIu32 ", found %" PRId64
                    ": not of this vocabulary",
                    dataset->bin.path, (first + i) * dataset->token_bytes,
                    first + i, limit - 1, raw_token(dataset, first + i));
    }
    return 0;
}

struct mtlm_indexed_dataset *mtlm_indexed_dataset_open(const char *prefix,
                                                       int64_t vocab_size,
                                                       struct mtlm_error *err)
{
    struct mtlm_indexed_dataset *dataset = mtlm_calloc(1, sizeof(*dataset));
    struct idx idx = {0};
    bool ok;

    dataset->prefix = mtlm_strdup(prefix);
    ok = open_file(&idx.file, prefix, ".idx", err) == 0
         && open_file(&dataset->bin, prefix, ".bin", err) == 0
         && check_header(dataset, &idx, err) == 0
         && check_arrays(dataset, &idx, err) == 0
         && check_tokens(dataset, vocab_size, err) == 0;
    mtlm_mapped_file_close(&idx.file);
    if (!ok) {
        mtlm_indexed_dataset_close(dataset);
        return NULL;
    }
    return dataset;
}

void mtlm_indexed_dataset_close(struct mtlm_indexed_dataset *dataset)
{
    if (!dataset)
        return;
    mtlm_mapped_file_close(&dataset->bin);
    free(dataset->bound);
    free(dataset->start);
    free(dataset->prefix);
    free(dataset);
}

const char *mtlm_indexed_dataset_prefix(
    const struct mtlm_indexed_dataset *dataset)
{
    return dataset->prefix;
}

int64_t mtlm_indexed_dataset_documents(
    const struct mtlm_indexed_dataset *dataset)
{
    return dataset->documents;
}

int64_t mtlm_indexed_dataset_tokens(const struct mtlm_indexed_dataset *dataset,
                                    int64_t first, int64_t last)
{
    assert(first >= 0 && first <= last && last <= dataset->documents);
    return dataset->start[dataset->bound[last]]
           - dataset->start[dataset->bound[first]];
}

int64_t mtlm_indexed_dataset_sequence(
    const struct mtlm_indexed_dataset *dataset, int64_t document)
{
    assert(document >= 0 && document <= dataset->documents);
    return dataset->bound[document];
}

int64_t mtlm_indexed_dataset_sequence_tokens(
    const struct mtlm_indexed_dataset *dataset, int64_t first, int64_t last)
{
    assert(first >= 0 && first <= last && last <= dataset->sequences);
    return dataset->start[last] - dataset->start[first];
}

void mtlm_indexed_dataset_sequence_read(
    const struct mtlm_indexed_dataset *dataset, int64_t sequence, int64_t first,
    int64_t n, int32_t *tokens)
{
    assert(sequence >= 0 && sequence < dataset->sequences);
    assert(first >= 0 && n >= 0);
    assert(first + n <= mtlm_indexed_dataset_sequence_tokens(
               dataset, sequence, dataset->sequences));
    convert(dataset, dataset->start[sequence] + first, n, tokens);
}

void mtlm_indexed_dataset_read(const struct mtlm_indexed_dataset *dataset,
                               int64_t document, int64_t first, int64_t n,
                               int32_t *tokens)
{
    assert(document >= 0 && document < dataset->documents);
    assert(first >= 0 && n >= 0);
    assert(first + n
           <= mtlm_indexed_dataset_tokens(dataset, document, document + 1));
    convert(dataset, dataset->start[dataset->bound[document]] + first, n,
            tokens);
}
