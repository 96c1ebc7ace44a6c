#ifndef MTLM_GENERATE_H
#define MTLM_GENERATE_H

#include "launch/job/job.h"

/* Continues the prompts of a job that mtlm_train_start() started.  Rank 0
 * prints the texts to standard output, token by token, and the speed to
 * standard error.  Collective.  Returns the exit code. */
int mtlm_generate(struct mtlm_job *job);

#endif /* MTLM_GENERATE_H */
