#ifndef MTLM_CHECKPOINT_DIR_H
#define MTLM_CHECKPOINT_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* A directory of checkpoints: iter_0000020, and where that iteration is saved
 * once more, iter_0000020.1, iter_0000020.2, so that nothing is ever written
 * over.  One that is being written is called iter_0000020.tmp; the new name is
 * what commits it.  All reasons name the directory. */
struct mtlm_checkpoint_id {
    int64_t iteration;
    int again; /* 0: the first one of that iteration */
};

struct mtlm_checkpoint_list {
    struct mtlm_checkpoint_id *id;
    int n;
};

/* The newest one before that one, or the newest of all (before: NULL).  Returns
 * 1 if there is one, 0 if not (also where there is no such directory), -1 and
 * MTLM_EXIT_INPUT when dir cannot be read. */
int mtlm_checkpoint_dir_newest(const char *dir,
                               const struct mtlm_checkpoint_id *before,
                               struct mtlm_checkpoint_id *found,
                               struct mtlm_error *err);

/* "DIR/iter_0000020", which the caller frees; of one that is being written. */
char *mtlm_checkpoint_dir_path(const char *dir,
                               const struct mtlm_checkpoint_id *id);
char *mtlm_checkpoint_dir_temporary(const char *dir, int64_t iteration);

/* The following are for the one process that commits. */

/* Locks dir until the process ends or *lock is closed.  MTLM_EXIT_IO: it cannot
 * be written, or another job has locked it.  Where the file system has no
 * locks, it warns and goes on. */
int mtlm_checkpoint_dir_lock(const char *dir, int *lock,
                             struct mtlm_error *err);

/* For the other processes: whether they see what is locked, and can write
 * there.  MTLM_EXIT_IO. */
int mtlm_checkpoint_dir_shared(const char *dir, struct mtlm_error *err);

/* Removes the lock's file from a directory that is to go. */
void mtlm_checkpoint_dir_unlock(const char *dir);

/* Whether that many bytes can be written there: MTLM_EXIT_IO with both
 * numbers. */
int mtlm_checkpoint_dir_space(const char *dir, int64_t bytes,
                              struct mtlm_error *err);

/* Begins one: an empty temporary directory. */
int mtlm_checkpoint_dir_begin(const char *dir, int64_t iteration,
                              struct mtlm_error *err);

/* All of it is in the temporary directory and on the disk: from here on it is
 * there, whatever happens.  Older ones of the same iteration go. */
int mtlm_checkpoint_dir_commit(const char *dir, int64_t iteration,
                               struct mtlm_error *err);

/* Removes what was begun and not committed, of this iteration or, -1, of
 * any. */
void mtlm_checkpoint_dir_discard(const char *dir, int64_t iteration);

/* Of those up to that iteration, which has been committed, keeps the newest
 * `keep` and removes the others, once there are so many.  One that is known to
 * be damaged, or is seen to be (mtlm_manifest_look()), is none of them, but
 * goes with the old ones; one that cannot be read now, or not by this program,
 * neither counts nor goes.  Later ones are damaged, or that iteration would not
 * have been done again: nor do they. */
void mtlm_checkpoint_dir_prune(const char *dir, int64_t iteration, int64_t keep,
                               const struct mtlm_checkpoint_list *damaged);

#endif /* MTLM_CHECKPOINT_DIR_H */
