#ifndef MTLM_MEASURED_TIMES_H
#define MTLM_MEASURED_TIMES_H

#include "graph/schedule/stage_times.h"
#include "launch/job/job.h"

/* Sets *times to the times of the stages in the records of all ranks from
 * iteration `first` on (launch/trace/stage_medians.h), and returns 0.  All
 * ranks get the same numbers, bit for bit.  The caller frees the times.
 *
 * Returns -1 on all ranks, with the same *err, if a stage has no F, B or W.
 * Collective; no node may be running. */
int mtlm_measured_times(struct mtlm_job *job, int64_t first,
                        struct mtlm_stage_times *times, struct mtlm_error *err);

#endif /* MTLM_MEASURED_TIMES_H */
