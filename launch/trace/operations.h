#ifndef MTLM_TRACE_OPERATIONS_H
#define MTLM_TRACE_OPERATIONS_H

#include "launch/trace/records.h"
#include "launch/trace/spans.h"
#include "launch/trace/summary.h"

/* Fills in summary's operations. */
void mtlm_trace_find_ops(const struct mtlm_trace_records *records,
                         struct mtlm_trace_summary *summary);

/* Fills in summary's classes, over window[ranks]. */
void mtlm_trace_find_classes(const struct mtlm_trace_records *records,
                             const struct mtlm_trace_spans *window,
                             struct mtlm_trace_summary *summary);

#endif /* MTLM_TRACE_OPERATIONS_H */
