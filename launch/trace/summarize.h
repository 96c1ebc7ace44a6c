#ifndef MTLM_TRACE_SUMMARIZE_H
#define MTLM_TRACE_SUMMARIZE_H

/* Computes the summary of a recorded run with every finder of this room. */

#include "launch/trace/summary.h"
#include "launch/trace/trace.h"

/* Summarizes the n records of all ranks, in any order and on one clock.  The
 * caller destroys the result (mtlm_trace_summary_destroy()). */
struct mtlm_trace_summary *mtlm_trace_summarize(
    const struct mtlm_record *records, size_t n,
    const struct mtlm_trace_info *info);

#endif /* MTLM_TRACE_SUMMARIZE_H */
