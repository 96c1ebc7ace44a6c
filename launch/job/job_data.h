#ifndef MTLM_JOB_DATA_H
#define MTLM_JOB_DATA_H

#include "launch/job/job.h"

/* The training data of the job. */

/* A step of the start: opens the data and makes the samples. */
int mtlm_job_data_open(struct mtlm_job *job, struct mtlm_error *err);

/* Frees the samples and closes the data. */
void mtlm_job_data_close(struct mtlm_job *job);

/* Prints the data sets; of a blend, also how many samples each gives to the
 * training and to a validation.  For rank 0. */
void mtlm_job_data_print(const struct mtlm_job *job);

/* The end of the line about a data set whose tokens, not documents, are split.
 */
#define MTLM_JOB_DATA_CUT ", split by position"

/* Returns one line about the data, with a hash.  The caller frees the line. */
char *mtlm_job_data_describe(const struct mtlm_job *job);

/* Returns whether a job that described its data so took whole the one text that
 * this job divides by position. */
bool mtlm_job_data_was_whole(const struct mtlm_job *job, const char *described);

#endif /* MTLM_JOB_DATA_H */
