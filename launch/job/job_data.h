#ifndef MTLM_JOB_DATA_H
#define MTLM_JOB_DATA_H

#include "launch/job/job.h"

/* The data that the job learns from. */

/* A step of the start: opens the data and makes the samples. */
int mtlm_job_data_open(struct mtlm_job *job, struct mtlm_error *err);

/* One line about the data, with a hash.  The caller frees it. */
char *mtlm_job_data_describe(const struct mtlm_job *job);

/* One line about the tokenizer, or NULL where none was given.  The caller
 * frees it. */
char *mtlm_job_data_describe_tokenizer(const struct mtlm_job *job);

#endif /* MTLM_JOB_DATA_H */
