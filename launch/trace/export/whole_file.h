#ifndef MTLM_TRACE_WHOLE_FILE_H
#define MTLM_TRACE_WHOLE_FILE_H

/* Output files that are replaced at once or not at all. */

#include <stdio.h>

/* Writes `what` to f; a failure stays in f (ferror()). */
typedef void mtlm_whole_file_writer(FILE *f, const void *what);

/* Writes path by a temporary file beside it, or beside the file that a link
 * names.  A device or a pipe is written directly, and so is the file of a link
 * in a directory that refuses new files.  Returns 0, or the errno of the
 * failure. */
int mtlm_whole_file_write(const char *path, mtlm_whole_file_writer *write,
                          const void *what);

#endif /* MTLM_TRACE_WHOLE_FILE_H */
