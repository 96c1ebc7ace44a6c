#ifndef MTLM_APPEND_FILE_H
#define MTLM_APPEND_FILE_H

/* A file that grows by whole pieces while training runs.  A failed write never
 * stops the training. */

#include <stddef.h>

#include "runtime/base/error.h"

struct mtlm_append_file;

/* Opens path for appending.  The caller closes the file.  On failure, returns
 * NULL and sets *err (MTLM_EXIT_IO).  A FIFO that no program reads is refused
 * at once. */
struct mtlm_append_file *mtlm_append_file_open(const char *path,
                                               struct mtlm_error *err);

/* Ends the last line of a file of text that a crash has cut. */
void mtlm_append_file_end_line(struct mtlm_append_file *file);

/* Makes a failing write silent: close() says what is missing.  For a program
 * that ends behind its only piece. */
void mtlm_append_file_quiet(struct mtlm_append_file *file);

/* Writes a piece at once.  A piece that cannot be written is removed and
 * reported on stderr; later pieces are dropped. */
void mtlm_append_file_put(struct mtlm_append_file *file, const void *data,
                          size_t bytes);

/* Closes and frees file; NULL is allowed.  Removes a new file without a piece.
 * Returns -1, after a line on stderr, if pieces are missing. */
int mtlm_append_file_close(struct mtlm_append_file *file);

#endif /* MTLM_APPEND_FILE_H */
