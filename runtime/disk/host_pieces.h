#ifndef MTLM_HOST_PIECES_H
#define MTLM_HOST_PIECES_H

/* Offloaded state of a rank with a GPU: pieces in pinned host memory, as
 * runtime/file/offload_file.h has them in a file.
 *
 * A piece that nobody has written reads as zeros.  Threads may use different
 * pieces at the same time. */

#include <stdbool.h>
#include <stdint.h>

struct mtlm_host_pieces;

/* Allocates n pieces of bytes[i] bytes.  node: the memory node of StarPU that
 * pieces are copied to and from.  StarPU is running; the caller destroys the
 * pieces before StarPU stops.  Lack of memory ends the job. */
struct mtlm_host_pieces *mtlm_host_pieces_create(const int64_t *bytes, int n,
                                                 unsigned node);

/* NULL is allowed. */
void mtlm_host_pieces_destroy(struct mtlm_host_pieces *pieces);

/* Copy n pieces, from `first` on, from or to memory on the node.  Return when
 * the bytes have arrived. */
void mtlm_host_pieces_store(struct mtlm_host_pieces *pieces, int first, int n,
                            const void *memory);
void mtlm_host_pieces_load(struct mtlm_host_pieces *pieces, int first, int n,
                           void *memory);

/* Makes n pieces, from `first` on, zeros again. */
void mtlm_host_pieces_clear(struct mtlm_host_pieces *pieces, int first, int n);

/* Write and read `bytes` bytes, from `offset` in a piece on, from or to host
 * memory.  The bytes may end in a later piece; only pieces without padding may
 * be crossed. */
void mtlm_host_pieces_put(struct mtlm_host_pieces *pieces, int piece,
                          int64_t offset, const void *memory, int64_t bytes);
void mtlm_host_pieces_get(const struct mtlm_host_pieces *pieces, int piece,
                          int64_t offset, void *memory, int64_t bytes);

#endif /* MTLM_HOST_PIECES_H */
