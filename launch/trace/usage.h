#ifndef MTLM_TRACE_USAGE_H
#define MTLM_TRACE_USAGE_H

/* Bubble and overlap: how busy workers and communication were inside windows.
 * The summary and the log line both take them from here. */

#include "launch/trace/records.h"
#include "launch/trace/spans.h"

/* Nanoseconds, of one rank or summed over ranks. */
struct mtlm_trace_usage {
    double busy_ns;    /* of all workers together */
    double room_ns;    /* workers times window */
    double comm_ns;    /* with communication of any kind under way */
    double overlap_ns; /* of comm_ns, with at least one worker busy */
};

/* Measures a rank inside its windows.  Receives were trimmed before
 * (mtlm_trace_trim_receives()). */
struct mtlm_trace_usage mtlm_trace_usage_find(
    const struct mtlm_trace_records *records, int rank,
    const struct mtlm_trace_spans *window);

void mtlm_trace_usage_add(struct mtlm_trace_usage *sum,
                          const struct mtlm_trace_usage *more);

/* Returns the bubble: 1 - busy / room; -1: no room. */
double mtlm_trace_usage_bubble(const struct mtlm_trace_usage *usage);

/* Returns overlap / communication; -1: no communication. */
double mtlm_trace_usage_overlap(const struct mtlm_trace_usage *usage);

#endif /* MTLM_TRACE_USAGE_H */
