#ifndef MTLM_TASK_FILE_H
#define MTLM_TASK_FILE_H

#include "runtime/file/mapped_file.h"

/* Reads a data file of a task into *file, which the caller closes.  -1 and
 * MTLM_EXIT_INPUT or MTLM_EXIT_IO: the file is unreadable, empty, or larger
 * than 1 GiB; *file is closed then. */
int mtlm_task_file_read(struct mtlm_mapped_file *file, const char *path,
                        struct mtlm_error *err);

/* Returns the line ends in text [bytes]. */
int64_t mtlm_task_file_lines(const char *text, int64_t bytes);

/* -1 and MTLM_EXIT_INPUT, with the line: the file is not UTF-8. */
int mtlm_task_file_check_text(const struct mtlm_mapped_file *file,
                              struct mtlm_error *err);

#endif /* MTLM_TASK_FILE_H */
