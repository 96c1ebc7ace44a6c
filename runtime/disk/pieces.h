#ifndef MTLM_PIECES_H
#define MTLM_PIECES_H

/* The pieces of a rank's offloaded state, wherever they live.  The watchdog
 * knows of each request to a file (runtime/comm/activity.h). */

#include "runtime/disk/host_pieces.h"
#include "runtime/file/offload_file.h"

/* One of the two, both borrowed; both NULL: no offloaded state. */
struct mtlm_pieces {
    struct mtlm_offload_file *file; /* on a disk */
    struct mtlm_host_pieces *host;  /* in host memory, beside a GPU */
};

/* Loads n pieces, from `first` on, into memory; stores likewise.  memory: host
 * memory of pieces in a file, GPU memory of pieces in host memory.  -1 with
 * MTLM_EXIT_IO where a disk fails. */
int mtlm_pieces_load(const struct mtlm_pieces *pieces, int first, int n,
                     void *memory, struct mtlm_error *err);
int mtlm_pieces_store(const struct mtlm_pieces *pieces, int first, int n,
                      const void *memory, struct mtlm_error *err);

/* Makes n pieces, from `first` on, zeros again. */
void mtlm_pieces_clear(const struct mtlm_pieces *pieces, int first, int n);

/* Write and read `bytes` bytes, from `offset` in a piece on, from or to host
 * memory.  -1 with MTLM_EXIT_IO where a disk fails. */
int mtlm_pieces_put(const struct mtlm_pieces *pieces, int piece, int64_t offset,
                    const void *memory, int64_t bytes, struct mtlm_error *err);
int mtlm_pieces_get(const struct mtlm_pieces *pieces, int piece, int64_t offset,
                    void *memory, int64_t bytes, struct mtlm_error *err);

#endif /* MTLM_PIECES_H */
