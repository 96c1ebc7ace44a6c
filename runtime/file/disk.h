#ifndef MTLM_DISK_H
#define MTLM_DISK_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

/* System calls on files, restarted after signals and partial writes.  They
 * return -1 with errno. */

/* Sets a function that is called after each open(), write() and fsync(), and by
 * mtlm_disk_note_call(), by the thread that made the call; NULL: none. */
void mtlm_disk_on_call(void (*done)(void));

/* Notes that another call on a file has returned.  Keeps errno. */
void mtlm_disk_note_call(void);

/* Opens a file, open(): a new file gets mode 0666; exec() closes the file. */
int mtlm_disk_open(const char *path, int flags);

/* Opens a directory, opendir().  NULL with errno: failure. */
DIR *mtlm_disk_open_dir(const char *path);

/* Returns the next name in a directory, valid until the next call.  NULL with
 * errno 0: no more names.  NULL with another errno: reading failed. */
const char *mtlm_disk_next_name(DIR *dir);

/* Returns whether an output file of that name replaces what is there: nothing,
 * or a regular file; or a directory, which cannot be replaced.  A device, a
 * pipe or a link is written to instead. */
bool mtlm_disk_is_replaced(const char *path);

/* Returns whether the path is a symbolic link that leads nowhere. */
bool mtlm_disk_is_lost_link(const char *path);

/* Returns the path of the file that an output file replaces or makes: of a
 * link, the file that the link names, if that is a regular file or none.
 * Returns a copy of the path otherwise, and where a link of the system, such as
 * /dev/stdout, is in the chain of links.  The caller frees the text. */
char *mtlm_disk_resolve_link(const char *path);

/* Returns whether an output file may be written in place, and not replaced: its
 * path is a link to target, as mtlm_disk_resolve_link() says, and the directory
 * of target refuses another file.  reason: the errno of that attempt, which is
 * the creation of a temporary file and never its rename. */
bool mtlm_disk_is_in_place(const char *path, const char *target, int reason);

/* Writes all bytes. */
int mtlm_disk_write(int fd, const void *data, size_t bytes);

/* Reads up to bytes, fewer only at the end of the file; returns how many. */
ssize_t mtlm_disk_read(int fd, void *data, size_t bytes);

/* Flushes a file to the disk.  Returns 0 for what is on no disk: a pipe, a
 * device. */
int mtlm_disk_sync(int fd);

/* Flushes the names in a directory to the disk.  Returns 0 where the file
 * system cannot or need not do that, or the directory is writable but
 * unreadable. */
int mtlm_disk_sync_dir(const char *dir);

/* As mtlm_disk_sync_dir(), of the directory that holds path. */
int mtlm_disk_sync_above(const char *path);

/* Sets err for a path that cannot be read, with the reason in errno.
 * MTLM_EXIT_INPUT: the path does not exist, or is no file.  MTLM_EXIT_IO: the
 * system refuses or fails to read a file that may be good.  Always returns
 * -1. */
int mtlm_disk_cannot_read(const char *path, struct mtlm_error *err);

/* Sets err, MTLM_EXIT_IO, for a directory that cannot be made, with the reason
 * in errno.  Always returns -1. */
int mtlm_disk_cannot_make(const char *path, struct mtlm_error *err);

/* Returns path from the root; a copy of path where the working directory is
 * unknown.  The caller frees the text. */
char *mtlm_disk_absolute(const char *path);

/* Makes the directories of a path.  Where that fails, the path ends at the
 * directory that cannot be made. */
int mtlm_disk_make_path(char *path);

#endif /* MTLM_DISK_H */
