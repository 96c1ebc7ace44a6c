/* Pieces of offloaded state: in a file, or in host memory. */

#include "config.h"

#include "runtime/comm/activity.h"
#include "runtime/disk/pieces.h"

/* Ends a request to a file, and returns the request's result. */
static int end_request(int rc)
{
    mtlm_activity_offload_end();
    return rc;
}

int mtlm_pieces_load(const struct mtlm_pieces *pieces, int first, int n,
                     void *memory, struct mtlm_error *err)
{
    if (pieces->file) {
        mtlm_activity_offload_begin();
        return end_request(
            mtlm_offload_file_read(pieces->file, first, n, memory, err));
    }
    mtlm_host_pieces_load(pieces->host, first, n, memory);
    return 0;
}

int mtlm_pieces_store(const struct mtlm_pieces *pieces, int first, int n,
                      const void *memory, struct mtlm_error *err)
{
    if (pieces->file) {
        mtlm_activity_offload_begin();
        return end_request(
            mtlm_offload_file_write(pieces->file, first, n, memory, err));
    }
    mtlm_host_pieces_store(pieces->host, first, n, memory);
    return 0;
}

void mtlm_pieces_clear(const struct mtlm_pieces *pieces, int first, int n)
{
    if (pieces->file)
        mtlm_offload_file_clear(pieces->file, first, n);
    else
        mtlm_host_pieces_clear(pieces->host, first, n);
}

int mtlm_pieces_put(const struct mtlm_pieces *pieces, int piece, int64_t offset,
                    const void *memory, int64_t bytes, struct mtlm_error *err)
{
    if (pieces->file) {
        mtlm_activity_offload_begin();
        return end_request(mtlm_offload_file_put(pieces->file, piece, offset,
                                                 memory, bytes, err));
    }
    mtlm_host_pieces_put(pieces->host, piece, offset, memory, bytes);
    return 0;
}

int mtlm_pieces_get(const struct mtlm_pieces *pieces, int piece, int64_t offset,
                    void *memory, int64_t bytes, struct mtlm_error *err)
{
    if (pieces->file) {
        mtlm_activity_offload_begin();
        return end_request(mtlm_offload_file_get(pieces->file, piece, offset,
                                                 memory, bytes, err));
    }
    mtlm_host_pieces_get(pieces->host, piece, offset, memory, bytes);
    return 0;
}
