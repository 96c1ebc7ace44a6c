#ifndef MTLM_TRACE_READ_TIMES_H
#define MTLM_TRACE_READ_TIMES_H

#include "graph/schedule/stage_times.h"
#include "runtime/base/error.h"

/* Sets *times to the times of the stages in a trace, by the rules of
 * launch/trace/stage_medians.h.  path: the directory of --trace, or
 * schedule.csv in it.
 *
 * The caller frees *times after success.  -1 and MTLM_EXIT_INPUT: the trace is
 * unreadable, or has no F or B of a stage. */
int mtlm_trace_read_times(const char *path, struct mtlm_stage_times *times,
                          struct mtlm_error *err);

#endif /* MTLM_TRACE_READ_TIMES_H */
