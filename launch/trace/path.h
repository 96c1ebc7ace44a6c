#ifndef MTLM_TRACE_PATH_H
#define MTLM_TRACE_PATH_H

/* Critical path and lower bound. */

#include "launch/trace/predecessors.h"
#include "launch/trace/records.h"
#include "launch/trace/summary.h"

/* Fills in critical paths (-1 where edges is NULL), the most work of a rank and
 * lower bounds, per iteration and on the mean. */
void mtlm_trace_find_paths(const struct mtlm_trace_records *records,
                           const struct mtlm_trace_predecessors *edges,
                           struct mtlm_trace_summary *summary);

#endif /* MTLM_TRACE_PATH_H */
