#ifndef MTLM_LAUNCH_SYNTHETIC_H
#define MTLM_LAUNCH_SYNTHETIC_H

#include "launch/job/job.h"

/* --synthetic: the machine that durations are modelled after, and what is left
 * of a training when nothing is computed. */

/* A step of the start: reads the cluster's description into job->cluster. */
int mtlm_job_read_cluster(struct mtlm_job *job, struct mtlm_error *err);

/* How the tasks of a rank, whose program that is, pretend. */
struct mtlm_synthetic mtlm_job_synthetic(const struct mtlm_job *job,
                                         const struct mtlm_program *program,
                                         int rank);

#endif /* MTLM_LAUNCH_SYNTHETIC_H */
