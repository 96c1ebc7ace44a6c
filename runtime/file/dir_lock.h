#ifndef MTLM_DIR_LOCK_H
#define MTLM_DIR_LOCK_H

/* The lock of a directory that a job writes: checkpoints, a trace, logits.  The
 * lock is the system's, on the file "lock" in the directory. */

#include "runtime/base/error.h"

/* Locks dir until the process ends or *lock is closed.  MTLM_EXIT_IO: dir is
 * not writable, or another job holds the lock.  Warns, and returns 0, where the
 * file system has no locks. */
int mtlm_dir_lock_take(const char *dir, int *lock, struct mtlm_error *err);

/* Checks that another process sees the lock and can write to dir.
 * MTLM_EXIT_IO. */
int mtlm_dir_lock_check(const char *dir, struct mtlm_error *err);

/* Returns whose lock this process sees in dir, "process 12 on host"; the caller
 * frees the text. */
char *mtlm_dir_lock_owner(const char *dir);

/* Removes the lock's file from a directory that no job uses from now on. */
void mtlm_dir_lock_remove(const char *dir);

#endif /* MTLM_DIR_LOCK_H */
