#ifndef MTLM_JOB_SYNTHETIC_H
#define MTLM_JOB_SYNTHETIC_H

#include "launch/job/job.h"

/* --synthetic: the modelled machine, and the durations of tasks. */

/* A step of the start: reads the cluster's description into job->cluster. */
int mtlm_job_synthetic_read(struct mtlm_job *job, struct mtlm_error *err);

/* Returns the model of the durations of that rank's tasks; program is the
 * rank's, borrowed. */
struct mtlm_synthetic mtlm_job_synthetic_of_rank(
    const struct mtlm_job *job, const struct mtlm_program *program, int rank);

#endif /* MTLM_JOB_SYNTHETIC_H */
