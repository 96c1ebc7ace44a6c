#ifndef MTLM_TRACE_COMPARE_H
#define MTLM_TRACE_COMPARE_H

#include <stdio.h>

#include "launch/trace/read/read.h"

/* Prints n runs side by side for mtlm-report. */

/* Prints a numbered line per run: model, layout, schedule, policy. */
void mtlm_trace_print_runs(FILE *out, const struct mtlm_trace_run *run, int n);

/* Prints the lines of mtlm_trace_print_runs(), then a table with a column per
 * run, then the largest waits of each run. */
void mtlm_trace_print_comparison(FILE *out, const struct mtlm_trace_run *run,
                                 int n);

#endif /* MTLM_TRACE_COMPARE_H */
