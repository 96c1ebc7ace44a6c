#ifndef MTLM_SAVER_H
#define MTLM_SAVER_H

#include "launch/job/job.h"

/* Saves checkpoints while training continues, one at a time.  Nodes of the
 * graph copy the tensors (mtlm_run_save()).  A thread of each rank writes the
 * rank's file.  Between two iterations the main threads agree that all files
 * are written; then rank 0's thread writes the manifest and commits.
 *
 * All ranks make the same calls in the same order.  The rank that prints the
 * log reports a commit; the rank that fails reports the failure.  A failure
 * leaves older checkpoints unchanged.
 *
 * held: training stands still meanwhile.  The log line counts this stall: the
 * workers' copies (from a GPU with the transfer), the time that ranks were
 * held, and rank 0's creation of the directory.  "written in" excludes the
 * removal of old checkpoints. */
struct mtlm_saver;

/* NULL: the job saves nothing. */
struct mtlm_saver *mtlm_saver_create(struct mtlm_job *job);

/* Waits for the thread and frees saver; NULL is fine. */
void mtlm_saver_destroy(struct mtlm_saver *saver);

/* Starts to save the copies of the last mtlm_run_save(): the state after so
 * many iterations and samples, with that report.  None is pending. */
void mtlm_saver_begin(struct mtlm_saver *saver, int64_t iteration,
                      int64_t samples, const double control[MTLM_CONTROL_COUNT],
                      bool held);

/* Whether a checkpoint is under way: its copies must not change.  False for
 * NULL. */
bool mtlm_saver_pending(const struct mtlm_saver *saver);

/* Advances the pending checkpoint if all ranks can. */
void mtlm_saver_poll(struct mtlm_saver *saver, bool held);

/* Waits until the pending checkpoint is committed or has failed.  The watchdog
 * stays quiet while disk calls return (runtime/comm/watchdog.h). */
void mtlm_saver_finish(struct mtlm_saver *saver);

/* Whether the last checkpoint failed.  False for NULL. */
bool mtlm_saver_failed(const struct mtlm_saver *saver);

#endif /* MTLM_SAVER_H */
