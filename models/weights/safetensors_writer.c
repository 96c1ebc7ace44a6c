/* Writes files in the format safetensors. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "models/weights/hash.h"
#include "models/weights/safetensors.h"
#include "runtime/base/memory.h"
#include "runtime/file/output_file.h"

struct file_piece {
    const void *data; /* NULL: read() makes it */
    mtlm_safetensors_read *read;
    void *arg;
    size_t bytes;
    uint64_t hash;
};

struct mtlm_safetensors_writer {
    char *path;
    json_t *metadata, *tensors; /* the header's two parts */
    int64_t bytes;              /* of all tensors so far */
    struct file_piece *piece;
    int64_t pieces;
    int (*stopped)(struct mtlm_error *err); /* NULL: nobody stops it */
    struct mtlm_safetensors_written written;
};

struct mtlm_safetensors_writer *mtlm_safetensors_writer_create(const char *path)
{
    struct mtlm_safetensors_writer *writer = mtlm_calloc(1, sizeof(*writer));

    writer->path = mtlm_strdup(path);
    writer->metadata = json_object();
    writer->tensors = json_object();
    return writer;
}

void mtlm_safetensors_writer_metadata(struct mtlm_safetensors_writer *writer,
                                      const char *key, const char *value)
{
    const int rc =
        json_object_set_new(writer->metadata, key, json_string(value));

    assert(rc == 0);
    (void) rc;
}

void mtlm_safetensors_writer_stop(struct mtlm_safetensors_writer *writer,
                                  int (*stopped)(struct mtlm_error *err))
{
    writer->stopped = stopped;
}

static void add_tensor(struct mtlm_safetensors_writer *writer, const char *name,
                       enum mtlm_safetensors_dtype dtype, int rank,
                       const int64_t dim[], struct file_piece piece)
{
    int64_t bytes = mtlm_safetensors_dtype_bytes(dtype);
    json_t *shape = json_array();
    int rc;

    assert(rank <= MTLM_SAFETENSORS_MAX_RANK);
    assert(!json_object_get(writer->tensors, name));
    for (int i = 0; i < rank; i++) {
        json_array_append_new(shape, json_integer(dim[i]));
        bytes *= dim[i];
    }
    rc = json_object_set_new(writer->tensors, name,
                             json_pack("{s:s,s:o,s:[I,I]}", "dtype",
                                       mtlm_safetensors_dtype_name(dtype),
                                       "shape", shape, "data_offsets",
                                       (json_int_t) writer->bytes,
                                       (json_int_t) (writer->bytes + bytes)));
    assert(rc == 0);
    (void) rc;
    writer->bytes += bytes;
    writer->piece =
        mtlm_realloc(writer->piece, writer->pieces + 1, sizeof(*writer->piece));
    piece.bytes = (size_t) bytes;
    writer->piece[writer->pieces++] = piece;
}

void mtlm_safetensors_writer_add(struct mtlm_safetensors_writer *writer,
                                 const char *name,
                                 enum mtlm_safetensors_dtype dtype, int rank,
                                 const int64_t dim[], const void *data)
{
    add_tensor(writer, name, dtype, rank, dim,
               (struct file_piece){.data = data});
}

void mtlm_safetensors_writer_add_later(struct mtlm_safetensors_writer *writer,
                                       const char *name,
                                       enum mtlm_safetensors_dtype dtype,
                                       int rank, const int64_t dim[],
                                       mtlm_safetensors_read *read, void *arg)
{
    add_tensor(writer, name, dtype, rank, dim,
               (struct file_piece){.read = read, .arg = arg});
}

/* Returns the header "{...}" with blanks that align tensors to 8 bytes; the
 * caller frees it. */
static char *make_header(const struct mtlm_safetensors_writer *writer)
{
    json_t *all = json_object();
    char *text, *header;

    if (json_object_size(writer->metadata))
        json_object_set(all, "__metadata__", writer->metadata);
    json_object_update(all, writer->tensors);
    text = json_dumps(all, JSON_COMPACT);
    header = mtlm_sprintf("%s%*s", text, (int) (-strlen(text) & 7), "");
    free(text);
    json_decref(all);
    return header;
}

/* A file during writing. */
struct sink {
    struct mtlm_output_file *file;
    XXH3_state_t *hash; /* of all bytes */
    void *memory;       /* of the largest tensor that is read at commit */
};

static int put(struct sink *sink, const void *data, size_t bytes,
               struct mtlm_error *err)
{
    XXH3_64bits_update(sink->hash, data, bytes);
    return mtlm_output_file_write(sink->file, data, bytes, err);
}

static int put_piece(struct sink *sink, struct file_piece *piece,
                     struct mtlm_error *err)
{
    const void *data = piece->data;

    if (piece->read) {
        if (piece->read(piece->arg, sink->memory, err) < 0)
            return -1;
        data = sink->memory;
    }
    piece->hash = XXH3_64bits(data, piece->bytes);
    return put(sink, data, piece->bytes, err);
}

static size_t largest_late(const struct mtlm_safetensors_writer *writer)
{
    size_t bytes = 0;

    for (int64_t i = 0; i < writer->pieces; i++)
        if (writer->piece[i].read && writer->piece[i].bytes > bytes)
            bytes = writer->piece[i].bytes;
    return bytes;
}

static int put_all(struct mtlm_safetensors_writer *writer, struct sink *sink,
                   struct mtlm_error *err)
{
    char *header = make_header(writer);
    const uint64_t length = strlen(header);
    int rc = put(sink, &length, sizeof(length), err);

    if (rc == 0)
        rc = put(sink, header, length, err);
    for (int64_t i = 0; i < writer->pieces && rc == 0; i++) {
        rc = put_piece(sink, &writer->piece[i], err);
        if (rc == 0 && writer->stopped)
            rc = writer->stopped(err);
    }
    writer->written.bytes = (int64_t) (sizeof(length) + length) + writer->bytes;
    free(header);
    return rc;
}

int mtlm_safetensors_writer_commit(struct mtlm_safetensors_writer *writer,
                                   struct mtlm_error *err)
{
    struct sink sink = {.file = mtlm_output_file_create(writer->path, err)};
    int rc;

    if (!sink.file)
        return -1;
    sink.hash = mtlm_hash_begin();
    sink.memory = mtlm_calloc(1, largest_late(writer) + 1);
    rc = put_all(writer, &sink, err);
    writer->written.hash = mtlm_hash_end(sink.hash);
    free(sink.memory);
    return mtlm_output_file_end(sink.file, rc, err);
}

struct mtlm_safetensors_written mtlm_safetensors_writer_written(
    const struct mtlm_safetensors_writer *writer)
{
    return writer->written;
}

uint64_t mtlm_safetensors_writer_hash(
    const struct mtlm_safetensors_writer *writer, int64_t i)
{
    assert(0 <= i && i < writer->pieces);
    return writer->piece[i].hash;
}

void mtlm_safetensors_writer_destroy(struct mtlm_safetensors_writer *writer)
{
    if (!writer)
        return;
    json_decref(writer->metadata);
    json_decref(writer->tensors);
    free(writer->piece);
    free(writer->path);
    free(writer);
}
