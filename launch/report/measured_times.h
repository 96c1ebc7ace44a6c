#ifndef MTLM_MEASURED_TIMES_H
#define MTLM_MEASURED_TIMES_H

#include "graph/schedule/stage_times.h"
#include "launch/job/job.h"

/* Times of the stages of a running job, and the part of them in layers. */
struct mtlm_measured_times {
    struct mtlm_stage_times stage, in_layers; /* owned */
};

/* Sets *times to the times in the records of all ranks from iteration `first`
 * on (launch/trace/stage_medians.h), and returns 0.  All ranks get the same
 * numbers, bit for bit.  The caller frees the times with
 * mtlm_measured_times_free().
 *
 * Returns -1 on all ranks, with the same *err, if a stage has no F, B or W.
 * Collective; no node may be running. */
int mtlm_measured_times(struct mtlm_job *job, int64_t first,
                        struct mtlm_measured_times *times,
                        struct mtlm_error *err);

/* Frees the times. */
void mtlm_measured_times_free(struct mtlm_measured_times *times);

#endif /* MTLM_MEASURED_TIMES_H */
