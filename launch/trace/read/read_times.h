#ifndef MTLM_TRACE_READ_TIMES_H
#define MTLM_TRACE_READ_TIMES_H

#include "graph/schedule/stage_times.h"
#include "runtime/base/error.h"

/* Sets *times to the times of the stages in a trace.  path: the directory of
 * --trace, or schedule.csv in it.
 *
 * F of a microbatch on a stage is the sum of its nodes; of a tensor-parallel
 * collective, the time from when all ranks have met.  B and W likewise.  Of
 * microbatches and iterations the median counts; of ranks with the same stage,
 * the slowest one.  The hop is the median of the receives' times from when both
 * ends have met; 0 without receives.
 *
 * The caller frees *times after success.  -1 and MTLM_EXIT_INPUT: the trace is
 * unreadable, or has no F, B or W of a stage. */
int mtlm_trace_read_times(const char *path, struct mtlm_stage_times *times,
                          struct mtlm_error *err);

#endif /* MTLM_TRACE_READ_TIMES_H */
