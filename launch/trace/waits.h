#ifndef MTLM_TRACE_WAITS_H
#define MTLM_TRACE_WAITS_H

/* Charges the idle time of workers to its causes. */

#include "launch/trace/predecessors.h"
#include "launch/trace/records.h"
#include "launch/trace/spans.h"
#include "launch/trace/summary.h"

/* Fills in waits and accounts: each idle moment of a worker that counts inside
 * window[rank], by cause.
 *
 * The gap before a node has two parts.  After the node was ready, the worker
 * waits for the runtime.  Before, the worker waits for the predecessor that
 * ended last.  If this predecessor ended before the gap, the worker waits for
 * the runtime, too.  edges NULL: the record of the rank that ended last stands
 * for the predecessor. */
void mtlm_trace_find_waits(const struct mtlm_trace_records *records,
                           const struct mtlm_trace_predecessors *edges,
                           const struct mtlm_trace_spans *window,
                           struct mtlm_trace_summary *summary);

#endif /* MTLM_TRACE_WAITS_H */
