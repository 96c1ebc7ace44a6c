/* Writes Megatron's PREFIX.bin and PREFIX.idx. */

#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/text/indexed_format.h"
#include "models/text/indexed_writer.h"
#include "runtime/base/memory.h"
#include "runtime/file/output_file.h"

struct mtlm_indexed_writer {
    struct mtlm_output_file *bin, *idx;
    int64_t vocab_size;
    enum mtlm_idx_dtype dtype;
    int32_t *length; /* [sequences], room for length_capacity */
    int64_t *bound;  /* [documents]: sequences up to their ends */
    int64_t sequences, documents;
    size_t length_capacity, bound_capacity;
    int64_t pending; /* tokens in the open sequence */
    int64_t before;  /* tokens in the ended sequences of the open document */
    int (*stopped)(struct mtlm_error *err); /* NULL: nobody stops it */
};

struct mtlm_indexed_writer *mtlm_indexed_writer_create(const char *prefix,
                                                       int64_t vocab_size,
                                                       struct mtlm_error *err)
{
    struct mtlm_indexed_writer *writer = mtlm_calloc(1, sizeof(*writer));
    char *bin = mtlm_sprintf("%s.bin", prefix);
    char *idx = mtlm_sprintf("%s.idx", prefix);

    writer->vocab_size = vocab_size;
    writer->dtype = vocab_size < 65500 ? MTLM_IDX_U16 : MTLM_IDX_I32;
    writer->bin = mtlm_output_file_create(bin, err);
    if (writer->bin)
        writer->idx = mtlm_output_file_create(idx, err);
    free(idx);
    free(bin);
    if (!writer->idx) {
        mtlm_indexed_writer_destroy(writer);
        return NULL;
    }
    return writer;
}

int mtlm_indexed_writer_add(struct mtlm_indexed_writer *writer,
                            const int32_t *tokens, int64_t n,
                            struct mtlm_error *err)
{
    const int bytes = mtlm_idx_dtype_bytes(writer->dtype);
    uint16_t narrow[4096];

    if (n > INT32_MAX - writer->pending)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "document %" PRId64 " has a sequence of more "
                              "than %d tokens, the most that the format can "
                              "hold",
                              writer->documents + 1, INT32_MAX);
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < 4096 ? n - i : 4096;
        for (int64_t j = 0; j < some; j++) {
            assert(tokens[i + j] >= 0 && tokens[i + j] < writer->vocab_size);
            narrow[j] = (uint16_t) tokens[i + j];
        }
        if (mtlm_output_file_write(writer->bin,
                                   bytes == 2 ? (const void *) narrow
                                              : (const void *) (tokens + i),
                                   some * bytes, err)
            < 0)
            return -1;
    }
    writer->pending += n;
    return 0;
}

void mtlm_indexed_writer_end_sequence(struct mtlm_indexed_writer *writer)
{
    writer->length =
        mtlm_make_room(writer->length, &writer->length_capacity,
                       writer->sequences + 1, sizeof(*writer->length));
    writer->length[writer->sequences++] = (int32_t) writer->pending;
    writer->before += writer->pending;
    writer->pending = 0;
}

void mtlm_indexed_writer_end_document(struct mtlm_indexed_writer *writer)
{
    const int64_t n = writer->documents;
    const int64_t first = n ? writer->bound[n - 1] : 0;

    if (writer->pending || writer->sequences == first)
        mtlm_indexed_writer_end_sequence(writer);
    writer->bound = mtlm_make_room(writer->bound, &writer->bound_capacity,
                                   n + 1, sizeof(*writer->bound));
    writer->bound[writer->documents++] = writer->sequences;
    writer->before = 0;
}

int64_t mtlm_indexed_writer_pending(const struct mtlm_indexed_writer *writer)
{
    return writer->before + writer->pending;
}

int64_t mtlm_indexed_writer_documents(const struct mtlm_indexed_writer *writer)
{
    return writer->documents;
}

int64_t mtlm_indexed_writer_sequences(const struct mtlm_indexed_writer *writer)
{
    return writer->sequences;
}

static int write_idx(struct mtlm_indexed_writer *writer, struct mtlm_error *err)
{
    const int64_t n = writer->sequences, zero = 0;
    unsigned char header[MTLM_IDX_HEADER_BYTES] = {0};
    const uint64_t version = MTLM_IDX_VERSION, sequences = n;
    const uint64_t bounds = writer->documents + 1;
    int64_t pointer = 0;
    int rc;

    memcpy(header, MTLM_IDX_MAGIC, MTLM_IDX_MAGIC_BYTES);
    memcpy(header + MTLM_IDX_VERSION_AT, &version, 8);
    header[MTLM_IDX_DTYPE_AT] = writer->dtype;
    memcpy(header + MTLM_IDX_SEQUENCES_AT, &sequences, 8);
    memcpy(header + MTLM_IDX_BOUNDS_AT, &bounds, 8);
    rc = mtlm_output_file_write(writer->idx, header, sizeof(header), err);
    if (rc == 0)
        rc = mtlm_output_file_write(writer->idx, writer->length, 4 * n, err);
    for (int64_t i = 0; i < n && rc == 0; i++) {
        rc = mtlm_output_file_write(writer->idx, &pointer, 8, err);
        pointer +=
            (int64_t) writer->length[i] * mtlm_idx_dtype_bytes(writer->dtype);
    }
    if (rc == 0)
        rc = mtlm_output_file_write(writer->idx, &zero, 8, err);
    if (rc == 0)
        rc = mtlm_output_file_write(writer->idx, writer->bound,
                                    8 * writer->documents, err);
    return rc;
}

void mtlm_indexed_writer_stop(struct mtlm_indexed_writer *writer,
                              int (*stopped)(struct mtlm_error *err))
{
    writer->stopped = stopped;
}

int mtlm_indexed_writer_commit(struct mtlm_indexed_writer *writer,
                               struct mtlm_error *err)
{
    assert(writer->pending == 0 && writer->before == 0);
    return write_idx(writer, err) < 0
                   || mtlm_output_file_finish(writer->bin, err) < 0
                   || mtlm_output_file_finish(writer->idx, err) < 0
                   || (writer->stopped && writer->stopped(err) < 0)
               ? -1
               : mtlm_output_file_publish_pair(writer->bin, writer->idx, err);
}

void mtlm_indexed_writer_destroy(struct mtlm_indexed_writer *writer)
{
    if (!writer)
        return;
    mtlm_output_file_destroy(writer->idx);
    mtlm_output_file_destroy(writer->bin);
    free(writer->bound);
    free(writer->length);
    free(writer);
}
