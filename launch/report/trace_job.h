#ifndef MTLM_TRACE_JOB_H
#define MTLM_TRACE_JOB_H

#include "launch/job/job.h"

/* Writes the records of all ranks to --trace DIR and prints the table, on rank
 * 0.  Sets *bubble to a fraction; -1: nothing was recorded.  Collective; the
 * engine must be stopped.  On failure, rank 0 returns -1 and sets *err
 * (MTLM_EXIT_IO). */
int mtlm_trace_job(struct mtlm_job *job, double *bubble,
                   struct mtlm_error *err);

/* Returns the layout in a few words, for people: "TP 2 x PP 2", "TP 1 x PP 2 (2
 * stages each, placement v) x DP 2".  The caller frees the text. */
char *mtlm_trace_job_layout(const struct mtlm_layout *layout);

#endif /* MTLM_TRACE_JOB_H */
