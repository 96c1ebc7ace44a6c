#ifndef MTLM_MEASURED_TIMES_H
#define MTLM_MEASURED_TIMES_H

#include "graph/schedule/stage_times.h"
#include "launch/job/job.h"

/* Times of the stages of a running job, and the part of them in layers. */
struct mtlm_measured_times {
    struct mtlm_stage_times stage, in_layers;
};

/* Sets *times to the times in the records of all ranks from iteration `first`
 * on (launch/trace/stage_medians.h), and returns 0.  All ranks get the same
 * numbers, bit for bit.  The caller owns both times: mtlm_second_plan_make()
 * takes over those of the stages, mtlm_stage_times_free() frees the others.
 *
 * Returns -1 on all ranks, with the same *err and no times, if a stage has no
 * F, B or W.  Collective; no node may be running. */
int mtlm_measured_times(struct mtlm_job *job, int64_t first,
                        struct mtlm_measured_times *times,
                        struct mtlm_error *err);

#endif /* MTLM_MEASURED_TIMES_H */
