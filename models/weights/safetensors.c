/* Reads files in the format safetensors. */

#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "models/weights/safetensors.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER_BYTES = 100000000, /* limit of the format */
    MAX_NAME_BYTES = 4096,
};

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
#define DTYPE(name, bytes) [MTLM_SAFETENSORS_##name] = {#name, bytes},
    MTLM_SAFETENSORS_DTYPES(DTYPE)
#undef DTYPE
};
enum { DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

const char *mtlm_safetensors_dtype_name(enum mtlm_safetensors_dtype dtype)
{
    return dtypes[dtype].name;
}

int mtlm_safetensors_dtype_bytes(enum mtlm_safetensors_dtype dtype)
{
    return dtypes[dtype].bytes;
}

struct mtlm_safetensors {
    struct mtlm_mapped_file map;
    json_t *header; /* owns the names */
    int64_t count;
    struct mtlm_safetensors_tensor *tensor; /* [count], by name */
};

static int find_dtype(const char *name)
{
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

/* Returns the elements of a tensor; -1: more than a file can hold. */
static int64_t elements(int rank, const int64_t dim[])
{
    int64_t n = 1;

    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n, dim[i], &n))
            return -1;
    return n;
}

static int read_header(struct mtlm_safetensors *file, int64_t *data_at,
                       struct mtlm_error *err)
{
    const char *path = file->map.path;
    const int64_t bytes = file->map.bytes;
    uint64_t length;
    json_error_t why;

    if (bytes < LENGTH_BYTES)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset 0: length of the header, expected "
                              "8 bytes, found a file of %" PRId64,
                              path, bytes);
    memcpy(&length, file->map.data, sizeof(length));
    if (length > MAX_HEADER_BYTES || length > (uint64_t) bytes - LENGTH_BYTES)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset 0: length of the header, expected "
                              "at most %d and within the file's %" PRId64
                              " bytes, found %" PRIu64,
                              path, MAX_HEADER_BYTES, bytes, length);
    if (length == 0 || file->map.data[LENGTH_BYTES] != '{')
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset %d: header, expected a JSON object",
                              path, LENGTH_BYTES);
    file->header = json_loadb((const char *) file->map.data + LENGTH_BYTES,
                              length, JSON_REJECT_DUPLICATES, &why);
    if (!file->header)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: offset %d: header: %s",
                              path, LENGTH_BYTES + why.position, why.text);
    *data_at = LENGTH_BYTES + (int64_t) length;
    return 0;
}

static int bad_tensor(const struct mtlm_safetensors *file, const char *name,
                      const char *why, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: tensor \"%.100s\": %s",
                          file->map.path, name, why);
}

static int read_shape(const struct mtlm_safetensors *file, const char *name,
                      const json_t *shape,
                      struct mtlm_safetensors_tensor *tensor,
                      struct mtlm_error *err)
{
    tensor->rank = (int) json_array_size(shape);
    if (!json_is_array(shape)
        || json_array_size(shape) > MTLM_SAFETENSORS_MAX_RANK)
        return bad_tensor(file, name, "shape, expected at most 8 dimensions",
                          err);
    for (int i = 0; i < tensor->rank; i++) {
        const json_t *dim = json_array_get(shape, i);

        tensor->dim[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || tensor->dim[i] < 0)
            return bad_tensor(file, name, "shape, expected integers from 0 up",
                              err);
    }
    return 0;
}

/* Fills in a tensor; the data of all tensors begins at data_at. */
static int read_tensor(const struct mtlm_safetensors *file, const char *name,
                       json_t *entry, int64_t data_at,
                       struct mtlm_safetensors_tensor *tensor,
                       struct mtlm_error *err)
{
    const int64_t room = file->map.bytes - data_at;
    const char *dtype;
    json_t *shape;
    json_int_t begin, end;
    json_error_t why;
    int64_t bytes;

    if (strlen(name) > MAX_NAME_BYTES)
        return bad_tensor(file, name, "the name is longer than 4096 bytes",
                          err);
    if (json_unpack_ex(entry, &why, 0, "{s:s,s:o,s:[I,I!]!}", "dtype", &dtype,
                       "shape", &shape, "data_offsets", &begin, &end)
        < 0)
        return bad_tensor(file, name, why.text, err);
    if (find_dtype(dtype) < 0)
        return bad_tensor(file, name, "unknown dtype", err);
    tensor->name = name;
    tensor->dtype = find_dtype(dtype);
    if (read_shape(file, name, shape, tensor, err) < 0)
        return -1;
    bytes = elements(tensor->rank, tensor->dim);
    if (bytes < 0
        || __builtin_mul_overflow(bytes, dtypes[tensor->dtype].bytes, &bytes)
        || begin < 0 || begin > end || end > room || end - begin != bytes)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: tensor \"%.100s\": data_offsets, expected "
                              "as many bytes as the shape has, within %" PRId64
                              ", found %" PRId64 " .. %" PRId64,
                              file->map.path, name, room, (int64_t) begin,
                              (int64_t) end);
    tensor->data = file->map.data + data_at + begin;
    tensor->bytes = (size_t) bytes;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct mtlm_safetensors_tensor *x = a, *y = b;

    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return mtlm_compare(x->bytes, y->bytes);
}

int mtlm_safetensors_compare_names(const void *a, const void *b)
{
    const struct mtlm_safetensors_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Checks that tensors cover the data: no holes, no overlap, no rest. */
static int check_cover(struct mtlm_safetensors *file, int64_t data_at,
                       struct mtlm_error *err)
{
    const unsigned char *at = file->map.data + data_at;
    const unsigned char *end = file->map.data + file->map.bytes;

    qsort(file->tensor, file->count, sizeof(*file->tensor), by_place);
    for (int64_t i = 0; i < file->count; i++) {
        if (file->tensor[i].data != at)
            return mtlm_error_set(
                err, MTLM_EXIT_INPUT,
                "%s: tensor \"%.100s\": data_offsets, expected to begin at "
                "%td, where the one before ends, found %td",
                file->map.path, file->tensor[i].name,
                at - file->map.data - data_at,
                (const unsigned char *) file->tensor[i].data - file->map.data
                    - data_at);
        at += file->tensor[i].bytes;
    }
    if (at != end)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: offset %td: end of the file, expected "
                              "here (after the last tensor), found at %" PRId64,
                              file->map.path, at - file->map.data,
                              file->map.bytes);
    qsort(file->tensor, file->count, sizeof(*file->tensor),
          mtlm_safetensors_compare_names);
    return 0;
}

static int read_tensors(struct mtlm_safetensors *file, int64_t data_at,
                        struct mtlm_error *err)
{
    const char *name, *key;
    json_t *entry, *value;

    file->tensor =
        mtlm_calloc(json_object_size(file->header), sizeof(*file->tensor));
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0) {
            if (read_tensor(file, name, entry, data_at,
                            &file->tensor[file->count++], err)
                < 0)
                return -1;
            continue;
        }
        if (!json_is_object(entry))
            return bad_tensor(file, name, "expected an object", err);
        json_object_foreach(entry, key, value) if (
            !json_is_string(value)) return bad_tensor(file, name,
                                                      "expected strings only",
                                                      err);
    }
    return check_cover(file, data_at, err);
}

struct mtlm_safetensors *mtlm_safetensors_open(const char *path,
                                               struct mtlm_error *err)
{
    struct mtlm_safetensors *file = mtlm_calloc(1, sizeof(*file));
    int64_t data_at;

    if (mtlm_mapped_file_open(&file->map, path, err) < 0
        || read_header(file, &data_at, err) < 0
        || read_tensors(file, data_at, err) < 0) {
        mtlm_safetensors_close(file);
        return NULL;
    }
    return file;
}

void mtlm_safetensors_close(struct mtlm_safetensors *file)
{
    if (!file)
        return;
    mtlm_mapped_file_close(&file->map);
    json_decref(file->header);
    free(file->tensor);
    free(file);
}

int64_t mtlm_safetensors_count(const struct mtlm_safetensors *file)
{
    return file->count;
}

const struct mtlm_safetensors_tensor *mtlm_safetensors_at(
    const struct mtlm_safetensors *file, int64_t i)
{
    assert(0 <= i && i < file->count);
    return &file->tensor[i];
}

const struct mtlm_safetensors_tensor *mtlm_safetensors_find(
    const struct mtlm_safetensors *file, const char *name)
{
    const struct mtlm_safetensors_tensor key = {.name = name};

    return bsearch(&key, file->tensor, file->count, sizeof(key),
                   mtlm_safetensors_compare_names);
}
