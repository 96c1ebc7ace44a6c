#ifndef MTLM_CHECKPOINT_DIR_H
#define MTLM_CHECKPOINT_DIR_H

#include <stdint.h>

#include "runtime/base/error.h"

/* A directory of checkpoints.  A checkpoint of iteration 20 is iter_0000020.
 * When that iteration is saved again, the checkpoint is iter_0000020.1, then
 * iter_0000020.2: no checkpoint is overwritten.  A checkpoint in progress is
 * iter_0000020.tmp; renaming commits it.  All errors name the directory. */
struct mtlm_checkpoint_id {
    int64_t iteration;
    int again; /* 0: the first of that iteration */
};

struct mtlm_checkpoint_list {
    struct mtlm_checkpoint_id *id; /* [n] */
    int n;
};

/* Removes the checkpoints of an iteration from the list. */
void mtlm_checkpoint_list_forget(struct mtlm_checkpoint_list *list,
                                 int64_t iteration);

/* Finds the newest checkpoint before `before`, or of all (NULL).  Returns 1
 * when there is one; 0 when there is none, or no such directory.  Returns -1
 * when dir is no directory (MTLM_EXIT_INPUT) or unreadable (MTLM_EXIT_IO). */
int mtlm_checkpoint_dir_newest(const char *dir,
                               const struct mtlm_checkpoint_id *before,
                               struct mtlm_checkpoint_id *found,
                               struct mtlm_error *err);

/* Returns the path of a checkpoint, "DIR/iter_0000020"; the caller frees it. */
char *mtlm_checkpoint_dir_path(const char *dir,
                               const struct mtlm_checkpoint_id *id);

/* Returns the path of a checkpoint in progress; the caller frees it. */
char *mtlm_checkpoint_dir_temporary(const char *dir, int64_t iteration);

/* The process that commits calls the functions below. */

/* Checks that dir has room for bytes.  MTLM_EXIT_IO with both numbers. */
int mtlm_checkpoint_dir_space(const char *dir, int64_t bytes,
                              struct mtlm_error *err);

/* Begins a checkpoint: creates an empty temporary directory. */
int mtlm_checkpoint_dir_begin(const char *dir, int64_t iteration,
                              struct mtlm_error *err);

/* Commits a checkpoint, which lies complete in the temporary directory and on
 * the disk.  On return 0 the checkpoint survives a power loss.  Removes older
 * checkpoints of the same iteration, but none without a manifest. */
int mtlm_checkpoint_dir_commit(const char *dir, int64_t iteration,
                               struct mtlm_error *err);

/* Removes uncommitted checkpoints of an iteration; -1: of all. */
void mtlm_checkpoint_dir_discard(const char *dir, int64_t iteration);

/* Keeps the newest `keep` checkpoints up to iteration, which has been
 * committed, and removes older ones, once there are `keep`.
 *
 * The checkpoint of iteration `best` stays, too; 0: there is none.
 *
 * A checkpoint in `damaged`, or found damaged (mtlm_manifest_look()), does not
 * count, and is removed with the old ones.  A checkpoint that is unreadable
 * now, or for this program, neither counts nor is removed.  The same holds for
 * what has no manifest: a copy that goes on, or another program's.  The same
 * holds for later checkpoints: they must be damaged, or iteration would not
 * have been repeated. */
void mtlm_checkpoint_dir_prune(const char *dir, int64_t iteration, int64_t keep,
                               int64_t best,
                               const struct mtlm_checkpoint_list *damaged);

#endif /* MTLM_CHECKPOINT_DIR_H */
