#ifndef MTLM_TRACE_WAITS_H
#define MTLM_TRACE_WAITS_H

#include "launch/trace/records.h"
#include "launch/trace/summary.h"
#include "launch/trace/window.h"

/* Fills in summary's waits: every moment of window[rank] in which one of the
 * rank's workers that count ran nothing, by cause.
 *
 * The gap before a node is divided at the moment when the node became ready.
 * Before, what it waited for is told by what ended last on the rank until
 * then; afterwards it waited for the runtime. */
void mtlm_trace_find_waits(const struct mtlm_trace_records *records,
                           const struct mtlm_spans *window,
                           struct mtlm_trace_summary *summary);

#endif /* MTLM_TRACE_WAITS_H */
