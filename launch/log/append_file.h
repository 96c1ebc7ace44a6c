#ifndef MTLM_APPEND_FILE_H
#define MTLM_APPEND_FILE_H

#include <stddef.h>

#include "runtime/base/error.h"

/* A file that grows by whole pieces while training runs, which goes on
 * whatever becomes of the file. */
struct mtlm_append_file;

/* Opens path, behind what it holds; NULL with MTLM_EXIT_IO. */
struct mtlm_append_file *mtlm_append_file_open(const char *path,
                                               struct mtlm_error *err);

/* Adds a piece at once.  One that cannot be written is taken back, said in a
 * sentence on stderr, and the last: later ones are dropped. */
void mtlm_append_file_put(struct mtlm_append_file *file, const void *data,
                          size_t bytes);

/* Destroys file; -1: pieces are missing, which is said on stderr.  A new file
 * without any piece is removed.  NULL is fine. */
int mtlm_append_file_close(struct mtlm_append_file *file);

#endif /* MTLM_APPEND_FILE_H */
