#ifndef MTLM_LAUNCH_SYNTHETIC_H
#define MTLM_LAUNCH_SYNTHETIC_H

#include "launch/job.h"

/* --synthetic: the machine that durations are modelled after, and what is left
 * of a training when nothing is computed. */

/* Refuses options that need something computed, and those that need
 * --synthetic. */
int mtlm_synthetic_check(const struct mtlm_options *options,
                         struct mtlm_error *err);

/* A step of the start: reads the cluster's description into job->cluster. */
int mtlm_job_read_cluster(struct mtlm_job *job, struct mtlm_error *err);

/* How this rank's tasks pretend, once job->program is built. */
void mtlm_job_pretend(struct mtlm_job *job);

#endif /* MTLM_LAUNCH_SYNTHETIC_H */
