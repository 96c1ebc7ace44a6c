#ifndef MTLM_TRACE_COMPARE_H
#define MTLM_TRACE_COMPARE_H

#include <stdio.h>

#include "launch/trace/read/read.h"

/* Prints what each of the n runs is, in a numbered line. */
void mtlm_trace_print_runs(FILE *out, const struct mtlm_trace_run *run, int n);

/* Prints the n runs side by side: what each is, then a line per number with a
 * column per run, then what each waited for most. */
void mtlm_trace_print_comparison(FILE *out, const struct mtlm_trace_run *run,
                                 int n);

#endif /* MTLM_TRACE_COMPARE_H */
