#ifndef MTLM_TRACE_WAITS_H
#define MTLM_TRACE_WAITS_H

#include "launch/trace/predecessors.h"
#include "launch/trace/records.h"
#include "launch/trace/spans.h"
#include "launch/trace/summary.h"

/* Fills in summary's waits and accounts: every moment of window[rank] in which
 * one of the rank's workers that count ran nothing, by cause.
 *
 * The gap before a node is divided at the moment when the node became ready.
 * Afterwards it waited for the runtime; before, for the one of its
 * predecessors that ended last, unless that had ended when the gap began: then
 * for the runtime, too, which had not told the node yet.  Where edges is NULL,
 * what ended last on the rank until then stands for the predecessor. */
void mtlm_trace_find_waits(const struct mtlm_trace_records *records,
                           const struct mtlm_trace_predecessors *edges,
                           const struct mtlm_trace_spans *window,
                           struct mtlm_trace_summary *summary);

#endif /* MTLM_TRACE_WAITS_H */
