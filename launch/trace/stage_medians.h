#ifndef MTLM_TRACE_STAGE_MEDIANS_H
#define MTLM_TRACE_STAGE_MEDIANS_H

#include "graph/schedule/stage_times.h"
#include "launch/trace/records.h"
#include "runtime/base/error.h"

/* Returns the times of the stages [stages] in the records.
 *
 * F of a microbatch on a stage is the sum of its nodes; of a tensor-parallel
 * collective, the time from when all ranks have met.  B and W likewise.  Of
 * microbatches and iterations the median counts; of ranks with the same stage,
 * the slowest one.  The hop is the median of the receives' times from when both
 * ends have met; 0 without receives.
 *
 * A pass without records takes 0 s.  The caller frees the times. */
struct mtlm_stage_times mtlm_trace_stage_medians(
    const struct mtlm_trace_records *records, int stages);

/* Returns the same times of the nodes in layers, without a hop. */
struct mtlm_stage_times mtlm_trace_layer_medians(
    const struct mtlm_trace_records *records, int stages);

/* Refuses times of a stage without F or B: -1 and MTLM_EXIT_INPUT.  W may be 0:
 * all of it may run with B (graph/graph.h, with_backward). */
int mtlm_trace_stage_medians_check(const struct mtlm_stage_times *times,
                                   struct mtlm_error *err);

#endif /* MTLM_TRACE_STAGE_MEDIANS_H */
