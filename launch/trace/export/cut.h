#ifndef MTLM_TRACE_CUT_H
#define MTLM_TRACE_CUT_H

/* Time that the picture of a long iteration leaves out of the middle. */

#include "launch/trace/records.h"
#include "launch/trace/spans.h"

/* Returns the middle of a plan's only iteration.  The middle begins when the
 * last virtual stage has ended F of info->shown_first microbatches.  The middle
 * ends when that stage begins B of the last info->shown_last.  An empty span:
 * nothing is left out. */
struct mtlm_trace_span mtlm_cut_find(const struct mtlm_trace_records *records,
                                     const struct mtlm_trace_info *info);

/* Copies the records that are not wholly in the cut.  The caller destroys the
 * result. */
struct mtlm_trace_records *mtlm_cut_apply(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_info *info, struct mtlm_trace_span cut);

#endif /* MTLM_TRACE_CUT_H */
