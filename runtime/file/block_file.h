#ifndef MTLM_BLOCK_FILE_H
#define MTLM_BLOCK_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A file without a name, whose room is reserved, read and written at given
 * places.
 *
 * I/O is direct (O_DIRECT) where the file system takes it.  Direct I/O goes by
 * io_uring (runtime/file/uring.h) where build and system have it, several
 * requests at once.  All else goes by pread() and pwrite(): there the system's
 * cache of pages reads ahead and writes behind.
 *
 * The file has no name: O_TMPFILE, or open() and unlink().  The system frees
 * the file when the process ends, however it ends.  So no other job can find
 * the file, and nobody takes the file for a checkpoint.
 *
 * Threads may use different bytes of a file at the same time. */
struct mtlm_block_file;

/* Creates a file of `bytes` bytes in dir.  The caller destroys the file.  NULL
 * with the reason in errno. */
struct mtlm_block_file *mtlm_block_file_create(const char *dir, int64_t bytes);

/* Closes the file, whose room becomes free.  NULL is allowed. */
void mtlm_block_file_destroy(struct mtlm_block_file *file);

/* Returns whether I/O bypasses the system's cache of pages. */
bool mtlm_block_file_is_direct(const struct mtlm_block_file *file);

/* Returns whether I/O goes by io_uring.  A system that refuses a request of
 * io_uring turns it off for the file. */
bool mtlm_block_file_has_rings(const struct mtlm_block_file *file);

/* Reads or writes all bytes at offset.  Memory, bytes and offset are multiples
 * of a block of the disk.  Returns 0, or -1 with the reason in errno; 0 in
 * errno: the file is short. */
int mtlm_block_file_transfer(struct mtlm_block_file *file, bool writes,
                             void *memory, int64_t bytes, int64_t offset);

/* Moves what the system's cache has of the file to the disk, so that the next
 * read asks the disk.  Does nothing where I/O is direct. */
void mtlm_block_file_drop_cache(struct mtlm_block_file *file);

#endif /* MTLM_BLOCK_FILE_H */
