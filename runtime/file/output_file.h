#ifndef MTLM_OUTPUT_FILE_H
#define MTLM_OUTPUT_FILE_H

#include <stddef.h>

#include "runtime/base/error.h"

/* A file that appears under its name whole or not at all: it is written
 * beside it under a temporary name, which destroy removes.  Every failure is
 * MTLM_EXIT_IO with the file and the reason.  A program that writes should
 * ignore SIGXFSZ. */
struct mtlm_output_file;

struct mtlm_output_file *mtlm_output_file_create(const char *path,
                                                 struct mtlm_error *err);
int mtlm_output_file_write(struct mtlm_output_file *file, const void *data,
                           size_t bytes, struct mtlm_error *err);

/* Nothing more to write: when this returns 0, the content is on the disk,
 * though not yet under the file's name. */
int mtlm_output_file_finish(struct mtlm_output_file *file,
                            struct mtlm_error *err);

/* Gives the finished file its name, in place of any file that had it. */
int mtlm_output_file_publish(struct mtlm_output_file *file,
                             struct mtlm_error *err);

/* Removes what has not been published.  file may be NULL. */
void mtlm_output_file_destroy(struct mtlm_output_file *file);

#endif /* MTLM_OUTPUT_FILE_H */
