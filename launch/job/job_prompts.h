#ifndef MTLM_JOB_PROMPTS_H
#define MTLM_JOB_PROMPTS_H

#include "launch/job/job.h"

/* Reads the prompts of a job that generates text into job->prompts, and sets
 * job->decoding.  -1 and MTLM_EXIT_USAGE: the model has too few positions.
 * MTLM_EXIT_INPUT, MTLM_EXIT_IO: --prompt-file, as mtlm_prompts_read(). */
int mtlm_job_prompts_open(struct mtlm_job *job, struct mtlm_error *err);

#endif /* MTLM_JOB_PROMPTS_H */
