#ifndef MTLM_TEXT_FILES_H
#define MTLM_TEXT_FILES_H

#include "runtime/base/error.h"

/* Calls read(context, file, err) for each file of the directory path whose name
 * ends with `end`.  Names are in the order of their bytes.  If path is no
 * directory, calls read() once for path itself.  Ends at the first failure of
 * read(), and fails as well.  MTLM_EXIT_INPUT: there is no such path, or no
 * such file in the directory.  MTLM_EXIT_IO, before any call: the names in the
 * directory are unreadable. */
int mtlm_text_files_read(const char *path, const char *end,
                         int (*read)(void *context, const char *file,
                                     struct mtlm_error *err),
                         void *context, struct mtlm_error *err);

#endif /* MTLM_TEXT_FILES_H */
