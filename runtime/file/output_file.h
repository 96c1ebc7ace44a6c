#ifndef MTLM_OUTPUT_FILE_H
#define MTLM_OUTPUT_FILE_H

#include <stddef.h>

#include "runtime/base/error.h"

/* An output file appears under its name whole, or not at all: the data goes to
 * a temporary file beside it.  A device or a pipe is written to instead; of a
 * link, the file that the link names is replaced or made.  That file is written
 * in place where a link of the system, such as /dev/stdout, is in the chain of
 * links.  The creation of the temporary file alone decides: a rename that is
 * refused, as in a sticky directory, is a failure.  Every failure is
 * MTLM_EXIT_IO with file and reason.  A program that writes should ignore
 * SIGXFSZ. */
struct mtlm_output_file;

/* Creates the temporary file; the caller destroys the output file. */
struct mtlm_output_file *mtlm_output_file_create(const char *path,
                                                 struct mtlm_error *err);

/* As mtlm_output_file_create(), for a file that no other file belongs to: where
 * the directory of a link's file refuses new files, the file is written in
 * place. */
struct mtlm_output_file *mtlm_output_file_create_in_place(
    const char *path, struct mtlm_error *err);

/* Appends bytes of data. */
int mtlm_output_file_write(struct mtlm_output_file *file, const void *data,
                           size_t bytes, struct mtlm_error *err);

/* Appends formatted text. */
int mtlm_output_file_print(struct mtlm_output_file *file,
                           struct mtlm_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the writing.  On return 0 the data is on the disk, under the temporary
 * name. */
int mtlm_output_file_finish(struct mtlm_output_file *file,
                            struct mtlm_error *err);

/* Gives the finished file its name, replacing any file of that name. */
int mtlm_output_file_publish(struct mtlm_output_file *file,
                             struct mtlm_error *err);

/* Gives two finished files that belong together their names, replacing any
 * files of these names.  index is the file without which nobody reads data.
 *
 * Meanwhile the old files have other names, PATH.old.N, and index is missing: a
 * process that dies leaves no old file beside a new one.  On return -1 the old
 * files have their names again, and the new ones are gone.  Where the system
 * refuses this, too, err says which names the old files have. */
int mtlm_output_file_publish_pair(struct mtlm_output_file *data,
                                  struct mtlm_output_file *index,
                                  struct mtlm_error *err);

/* Finishes and publishes the file, unless rc, of its writing, is not 0; then
 * destroys the file.  file may be NULL, with rc below 0.  Returns 0 once
 * published. */
int mtlm_output_file_end(struct mtlm_output_file *file, int rc,
                         struct mtlm_error *err);

/* Writes a file whose whole content is the text. */
int mtlm_output_file_write_text(const char *path, const char *text,
                                struct mtlm_error *err);

/* Removes the temporary file unless published.  file may be NULL. */
void mtlm_output_file_destroy(struct mtlm_output_file *file);

#endif /* MTLM_OUTPUT_FILE_H */
