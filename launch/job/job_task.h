#ifndef MTLM_JOB_TASK_H
#define MTLM_JOB_TASK_H

#include "codelets/control_slots.h"
#include "launch/job/job.h"

/* The samples of a job with --task. */

/* Reads the data of the task, and sets the batches of the evaluation.  The last
 * batch may have samples that score nothing. */
int mtlm_job_task_open(struct mtlm_job *job, struct mtlm_error *err);

/* Prints the task and its data.  For rank 0. */
void mtlm_job_task_print(const struct mtlm_job *job);

/* Returns one line about the data, with a hash.  The caller frees the line. */
char *mtlm_job_task_describe(const struct mtlm_job *job);

/* Returns the lines of the result and of published numbers, without the last
 * newline.  report: sums over all batches.  The caller frees the lines. */
char *mtlm_job_task_result(const struct mtlm_job *job,
                           const double report[MTLM_STATUS_EXTRA]);

#endif /* MTLM_JOB_TASK_H */
