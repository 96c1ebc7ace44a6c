#ifndef MTLM_JOB_BEST_H
#define MTLM_JOB_BEST_H

#include "launch/job/job.h"

/* The best epoch of a fine-tuning, job->best, which all ranks know.  With
 * --save DIR it is also the content of DIR/best.json. */

/* Step of the start: a job that continues in its directory takes over the best
 * epoch so far, unless other data are scored now.  Collective. */
int mtlm_job_best_find(struct mtlm_job *job, struct mtlm_error *err);

/* Returns whether the job begins behind an epoch whose scores are missing. */
bool mtlm_job_best_lacks_begin(const struct mtlm_job *job);

/* Offers the scores after iteration `done`; they count at the end of an epoch.
 * score [mtlm_job_finetune_scores()]: on the last rank; less than 0 on others,
 * and on the last one if there is no score.  saved: the iteration has a
 * checkpoint if the job saves.  Rank 0 writes best.json and removes checkpoints
 * that are not kept.  Returns -1 and MTLM_EXIT_IO on rank 0 if that failed.
 * Collective. */
int mtlm_job_best_offer(struct mtlm_job *job, int64_t done, double *score,
                        bool saved, struct mtlm_error *err);

/* Returns a line about the best epoch, which the caller frees; NULL: there is
 * none. */
char *mtlm_job_best_text(const struct mtlm_job *job);

#endif /* MTLM_JOB_BEST_H */
