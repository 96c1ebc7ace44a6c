#ifndef MTLM_TRACE_OPERATIONS_H
#define MTLM_TRACE_OPERATIONS_H

/* Time, count, FLOP and bytes of each operation and of each class. */

#include "launch/trace/records.h"
#include "launch/trace/spans.h"
#include "launch/trace/summary.h"

/* Fills in summary->op, of all records. */
void mtlm_trace_find_ops(const struct mtlm_trace_records *records,
                         struct mtlm_trace_summary *summary);

/* Fills in summary->class, of the time inside window[ranks]. */
void mtlm_trace_find_classes(const struct mtlm_trace_records *records,
                             const struct mtlm_trace_spans *window,
                             struct mtlm_trace_summary *summary);

#endif /* MTLM_TRACE_OPERATIONS_H */
