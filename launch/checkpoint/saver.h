#ifndef MTLM_SAVER_H
#define MTLM_SAVER_H

#include "launch/job/job.h"

/* Saves checkpoints while training goes on.  What is saved was copied by nodes
 * of the graph (mtlm_run_save()); a thread of each rank writes its file; when
 * all have, which the main threads tell each other between two iterations, that
 * of rank 0 writes the manifest and commits.  One checkpoint at a time.
 *
 * All ranks make the same calls in the same order.  The rank that prints the
 * log says what was committed; what failed, who saw it.  A failure leaves all
 * older checkpoints as they are.
 *
 * held: nothing else is under way meanwhile, so that training stands still. The
 * log line says for how long: the workers' time for copies, where they come
 * from a GPU with the transfer; and what the ranks were held for, or rank 0's
 * main thread by making the directory.  "written in" is without the removal of
 * old checkpoints. */
struct mtlm_saver;

/* NULL: the job saves nothing. */
struct mtlm_saver *mtlm_saver_create(struct mtlm_job *job);

/* Nothing is under way any more.  saver may be NULL. */
void mtlm_saver_destroy(struct mtlm_saver *saver);

/* Begins to save what the last mtlm_run_save() copied, which is the state after
 * that many iterations and samples, with that report; none is pending. */
void mtlm_saver_begin(struct mtlm_saver *saver, int64_t iteration,
                      int64_t samples, const double control[MTLM_CONTROL_COUNT],
                      bool held);

/* Whether one is under way: the copies must stay as they are.  false for
 * NULL. */
bool mtlm_saver_pending(const struct mtlm_saver *saver);

/* Goes on with it if all ranks can; waits for it, however long the disk
 * takes while its calls return (runtime/comm/watchdog.h). */
void mtlm_saver_poll(struct mtlm_saver *saver, bool held);
void mtlm_saver_finish(struct mtlm_saver *saver);

/* Whether the last one that ended failed.  false for NULL. */
bool mtlm_saver_failed(const struct mtlm_saver *saver);

#endif /* MTLM_SAVER_H */
