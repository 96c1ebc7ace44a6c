#ifndef MTLM_OFFLOAD_FILE_H
#define MTLM_OFFLOAD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* The file of a rank's offloaded state: pieces of memory that a running job
 * keeps on a disk.
 *
 * The file has no name, so it never outlives the process
 * (runtime/file/block_file.h).
 *
 * A piece begins at a multiple of MTLM_OFFLOAD_ALIGN bytes.  Consecutive pieces
 * lie in memory as they lie in the file, and are moved together.  Each
 * piece has a checksum (XXH3-64), which a read verifies.  A piece that nobody
 * has written reads as zeros, without a call of the system.
 *
 * Threads may use different pieces of a file at the same time. */
struct mtlm_offload_file;

/* Alignment of pieces, in the file and in memory: the block of a disk, which
 * direct I/O (O_DIRECT) needs. */
enum { MTLM_OFFLOAD_ALIGN = 4096 };

/* Returns the bytes that a piece of `bytes` bytes takes, with padding. */
int64_t mtlm_offload_file_padded(int64_t bytes);

/* Creates the file of n pieces in dir, and reserves its room on the disk.
 * bytes [n] of each piece.  The caller destroys the file.  NULL with
 * MTLM_EXIT_USAGE: no room; MTLM_EXIT_IO: any other failure. */
struct mtlm_offload_file *mtlm_offload_file_create(const char *dir,
                                                   const int64_t *bytes, int n,
                                                   struct mtlm_error *err);

/* Closes the file, whose room becomes free.  NULL is allowed. */
void mtlm_offload_file_destroy(struct mtlm_offload_file *file);

/* Bytes per second of a disk; 0: not measured. */
struct mtlm_offload_speed {
    double read, written;
};

/* Writes the begin of the file and reads it again, at most 128 MiB or about
 * 2 seconds each way, past the system's cache.  Call before anything else is
 * written.  0: the file has less than 4 MiB, or the disk refuses. */
struct mtlm_offload_speed mtlm_offload_file_speed(
    struct mtlm_offload_file *file);

/* Returns whether I/O bypasses the system's cache of pages. */
bool mtlm_offload_file_is_direct(const struct mtlm_offload_file *file);

/* Returns whether I/O goes by io_uring, several requests at once. */
bool mtlm_offload_file_has_rings(const struct mtlm_offload_file *file);

/* Writes n pieces, from `first` on.  memory is aligned like the pieces.  Where
 * the disk refuses (no room, an error), returns -1 with MTLM_EXIT_IO, and keeps
 * a copy in memory: later reads return the copy. */
int mtlm_offload_file_write(struct mtlm_offload_file *file, int first, int n,
                            const void *memory, struct mtlm_error *err);

/* Reads n pieces, from `first` on, and verifies their checksums.  memory is
 * aligned like the pieces.  -1 with MTLM_EXIT_IO: the read fails, the file is
 * short, or the bytes are not those that were written. */
int mtlm_offload_file_read(struct mtlm_offload_file *file, int first, int n,
                           void *memory, struct mtlm_error *err);

/* Makes n pieces, from `first` on, zeros again, without a call of the
 * system. */
void mtlm_offload_file_clear(struct mtlm_offload_file *file, int first, int n);

/* Write and read `bytes` bytes, from `offset` in a piece on, to or from memory
 * anywhere.  The bytes may end in a later piece, and only consecutive pieces
 * without padding may be crossed. */
int mtlm_offload_file_put(struct mtlm_offload_file *file, int piece,
                          int64_t offset, const void *memory, int64_t bytes,
                          struct mtlm_error *err);
int mtlm_offload_file_get(struct mtlm_offload_file *file, int piece,
                          int64_t offset, void *memory, int64_t bytes,
                          struct mtlm_error *err);

#endif /* MTLM_OFFLOAD_FILE_H */
