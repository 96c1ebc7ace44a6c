#ifndef MTLM_MAPPED_FILE_H
#define MTLM_MAPPED_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian and are read as they are"
#endif

/* A regular file, mapped for reading.  When the file shrinks while mapped, the
 * process ends with MTLM_EXIT_INPUT and a sentence that names the file, instead
 * of a SIGBUS. */
struct mtlm_mapped_file {
    const unsigned char *data; /* [bytes]; NULL: empty */
    int64_t bytes;
    char *path;
    void *copy;                    /* the data, when read instead of mapped */
    struct mtlm_mapped_file *next; /* list of all mapped files */
};

/* Maps path into *file, which must not move; the caller closes it.
 * MTLM_EXIT_INPUT: the path does not exist, or is no regular file.
 * MTLM_EXIT_IO: reading fails (rights, open files, disk), the file may be good.
 */
int mtlm_mapped_file_open(struct mtlm_mapped_file *file, const char *path,
                          struct mtlm_error *err);

/* Reads a file of at most max_bytes into memory, so that neither a shrinking
 * file nor a failing disk ends the process later.  Fails like
 * mtlm_mapped_file_open(); MTLM_EXIT_INPUT, too, for a larger file. */
int mtlm_mapped_file_read(struct mtlm_mapped_file *file, const char *path,
                          int64_t max_bytes, struct mtlm_error *err);

/* Reads a file piece by piece: take(arg, data, n) gets each of them.  Sets
 * *found to the size of the file.  Does not read a file of another size than
 * bytes.  Fails like mtlm_mapped_file_open(): a failing disk is an error here,
 * and ends a process that maps the file. */
typedef void mtlm_mapped_file_take(void *arg, const void *data, size_t bytes);
int mtlm_mapped_file_each_piece(const char *path, int64_t bytes,
                                mtlm_mapped_file_take *take, void *arg,
                                int64_t *found, struct mtlm_error *err);

/* Releases the pages of these bytes until the next read: large files must not
 * accumulate in memory. */
void mtlm_mapped_file_forget(const void *data, int64_t bytes);

/* Unmaps the file.  Does nothing for a zeroed or closed *file. */
void mtlm_mapped_file_close(struct mtlm_mapped_file *file);

#endif /* MTLM_MAPPED_FILE_H */
