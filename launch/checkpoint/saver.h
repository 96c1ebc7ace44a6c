#ifndef MTLM_SAVER_H
#define MTLM_SAVER_H

#include "codelets/control_slots.h"
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
 * Parameter held: training waits during the call.  The log line adds up the
 * stall: the workers' copies (from a GPU with the transfer), and the time of
 * calls with held.  "written in" excludes the removal of old checkpoints. */
struct mtlm_saver;

/* Returns a saver, or NULL if the job saves nothing.  The caller destroys the
 * saver before job. */
struct mtlm_saver *mtlm_saver_create(struct mtlm_job *job);

/* Takes the copies of job's program, which has replaced another one.  No
 * checkpoint may be pending.  Does nothing for NULL. */
void mtlm_saver_take_program(struct mtlm_saver *saver);

/* Waits for the thread and frees saver; NULL is allowed. */
void mtlm_saver_destroy(struct mtlm_saver *saver);

/* Starts to write the copies of the last mtlm_run_save() to a checkpoint.
 * iteration, samples: iterations and samples done.  control: the report of the
 * last of these iterations.  No checkpoint may be pending. */
void mtlm_saver_begin(struct mtlm_saver *saver, int64_t iteration,
                      int64_t samples, const double control[MTLM_CONTROL_COUNT],
                      bool held);

/* Returns whether a checkpoint is pending: no new mtlm_run_save() may overwrite
 * the copies.  False for NULL. */
bool mtlm_saver_pending(const struct mtlm_saver *saver);

/* Takes the next step of the pending checkpoint, if there is one and the
 * threads of all ranks are done.  Collective. */
void mtlm_saver_poll(struct mtlm_saver *saver, bool held);

/* Waits until the pending checkpoint is committed or has failed.  The watchdog
 * stays quiet while disk calls return (runtime/comm/watchdog.h). */
void mtlm_saver_finish(struct mtlm_saver *saver);

/* Returns whether the last checkpoint failed.  False for NULL. */
bool mtlm_saver_failed(const struct mtlm_saver *saver);

#endif /* MTLM_SAVER_H */
