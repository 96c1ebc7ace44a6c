#ifndef MTLM_TRACE_JOB_H
#define MTLM_TRACE_JOB_H

#include "launch/job/job.h"

/* Rank 0 writes the records of all ranks to --trace DIR and prints the table.
 * *bubble: a fraction; -1: nothing was recorded.  Collective; the engine is
 * stopped.  -1 and MTLM_EXIT_IO on rank 0. */
int mtlm_trace_job(struct mtlm_job *job, double *bubble,
                   struct mtlm_error *err);

#endif /* MTLM_TRACE_JOB_H */
