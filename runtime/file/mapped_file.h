#ifndef MTLM_MAPPED_FILE_H
#define MTLM_MAPPED_FILE_H

#include <stdint.h>

#include "runtime/base/error.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian and are read as they are"
#endif

/* A regular file, mapped for reading.  Should it shrink while mapped, the
 * process ends with MTLM_EXIT_INPUT and a sentence that names it, instead of
 * dying of SIGBUS. */
struct mtlm_mapped_file {
    const unsigned char *data; /* NULL when the file is empty */
    int64_t bytes;
    char *path;
    void *copy;                    /* what was read instead */
    struct mtlm_mapped_file *next; /* of all mapped files */
};

/* Maps path into *file, which must stay where it is until close.
 * MTLM_EXIT_INPUT: it is not there, or no regular file; MTLM_EXIT_IO: it cannot
 * be read (rights, open files, a failing disk), and may be good. */
int mtlm_mapped_file_open(struct mtlm_mapped_file *file, const char *path,
                          struct mtlm_error *err);

/* The same for a file of up to that many bytes, read into memory: neither that
 * it shrinks nor that the disk fails later ends the process.  MTLM_EXIT_INPUT,
 * too: it is larger. */
int mtlm_mapped_file_read(struct mtlm_mapped_file *file, const char *path,
                          int64_t max_bytes, struct mtlm_error *err);

/* Lets go of the memory with those bytes of it, and what shares pages with
 * them, until somebody reads them again: large files do not add up. */
void mtlm_mapped_file_forget(const void *data, int64_t bytes);

/* Nothing happens to a zeroed or closed *file. */
void mtlm_mapped_file_close(struct mtlm_mapped_file *file);

#endif /* MTLM_MAPPED_FILE_H */
