#ifndef TESTS_LAUNCH_PIPELINE_H
#define TESTS_LAUNCH_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/trace/summary.h"
#include "runtime/machine/recorder.h"

/* Records of a pipeline that never ran: a list simulation in steps of one
 * unit of time.  Each of the ranks 0 .. stages - 1 has one worker and one
 * stage; F, B and W of a microbatch take a unit each, and so do the norm's
 * all-reduce and the optimizer step at the end of an iteration, which are
 * left out with one iteration. */
struct pipeline {
    int stages, microbatches, iterations;
    bool fused;      /* W right after B, and before B's send: 1F1B; else W
                        only when there is nothing else to do: ZB-H1 */
    int pieces;      /* operations per F, B or W */
    int64_t unit_ns; /* a multiple of pieces */
};

/* The caller frees the *n records. */
struct mtlm_record *pipeline_records(const struct pipeline *pipeline,
                                     size_t *n);

/* The summary of one whose units are of that length, each F, B and W four
 * operations; the caller destroys it. */
#define PIPELINE_UNIT_NS INT64_C(1000000)
struct mtlm_trace_summary *pipeline_summary(int stages, int microbatches,
                                            int iterations, bool fused);

#endif /* TESTS_LAUNCH_PIPELINE_H */
