#ifndef MTLM_DISK_H
#define MTLM_DISK_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

/* System calls on files that neither a signal nor a part that was written
 * ends.  They return -1 with errno. */

/* done() is called, by the thread whose call it was, whenever one of those
 * that take long has returned; NULL: nothing is. */
void mtlm_disk_on_call(void (*done)(void));

/* open(), of a new file with mode 0666; the file is closed on exec. */
int mtlm_disk_open(const char *path, int flags);

/* All of the bytes. */
int mtlm_disk_write(int fd, const void *data, size_t bytes);

/* As many as there are, up to that many: how many. */
ssize_t mtlm_disk_read(int fd, void *data, size_t bytes);

int mtlm_disk_sync(int fd);

/* The names in a directory.  Some file systems cannot do that to a directory,
 * others need not, and who may write there need not be able to read: that is
 * no failure. */
int mtlm_disk_sync_dir(const char *dir);

/* Path cannot be read, for the reason in errno.  What is not there, or is no
 * file, is bad input, MTLM_EXIT_INPUT; what the system does not let us read
 * now, or fails to read, may be good: MTLM_EXIT_IO.  Returns -1. */
int mtlm_disk_cannot_read(const char *path, struct mtlm_error *err);

#endif /* MTLM_DISK_H */
