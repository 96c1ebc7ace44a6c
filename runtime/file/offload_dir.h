#ifndef MTLM_OFFLOAD_DIR_H
#define MTLM_OFFLOAD_DIR_H

/* The directory of --offload-dir, where ranks keep their offloaded state
 * (runtime/file/offload_file.h). */

#include "runtime/base/error.h"
#include "runtime/file/file_system.h"

/* Returns the directory of the user's cache for offloaded state:
 * $XDG_CACHE_HOME/mtlm-dag/offload, or ~/.cache/mtlm-dag/offload.  The caller
 * frees the text.  NULL: the user has neither variable. */
char *mtlm_offload_dir_default(void);

/* Makes dir and the directories above it, where they are missing, and checks
 * that the file system has room.  bytes: need of all ranks of this machine.
 * MTLM_EXIT_USAGE: too little room.  MTLM_EXIT_IO: dir cannot be made or
 * read. */
int mtlm_offload_dir_check(const char *dir, double bytes,
                           struct mtlm_error *err);

/* Returns the free bytes for dir: of the nearest directory that exists.  -1:
 * unknown. */
double mtlm_offload_dir_room(const char *dir);

/* Returns the file system of dir, or of the nearest directory above that
 * exists. */
struct mtlm_file_system mtlm_offload_dir_file_system(const char *dir);

#endif /* MTLM_OFFLOAD_DIR_H */
