#ifndef MTLM_TRACE_TABLE_H
#define MTLM_TRACE_TABLE_H

#include <stdio.h>

#include "launch/trace/summary.h"
#include "launch/trace/trace.h"

/* Prints the summary as a table: bubbles, largest causes of idle time, critical
 * path and lower bound, a line per class of operations and per rank.  Of many
 * ranks: those with the smallest and largest bubbles. */
void mtlm_trace_print_table(FILE *out, const struct mtlm_trace_summary *summary,
                            const struct mtlm_trace_info *info);

#endif /* MTLM_TRACE_TABLE_H */
