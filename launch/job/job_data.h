#ifndef MTLM_JOB_DATA_H
#define MTLM_JOB_DATA_H

#include "launch/job/job.h"

/* The training data of the job. */

/* A step of the start: opens the data and makes the samples. */
int mtlm_job_data_open(struct mtlm_job *job, struct mtlm_error *err);

/* Returns one line about the data, with a hash.  The caller frees the line. */
char *mtlm_job_data_describe(const struct mtlm_job *job);

/* Returns one line about the tokenizer, or NULL if none was given.  The caller
 * frees the line. */
char *mtlm_job_data_describe_tokenizer(const struct mtlm_job *job);

#endif /* MTLM_JOB_DATA_H */
