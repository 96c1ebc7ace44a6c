#ifndef MTLM_TRACE_WINDOWS_H
#define MTLM_TRACE_WINDOWS_H

/* Windows: the part of the recorded time that the summary measures, by rank
 * and iteration.  launch/trace/summary.h defines them. */

#include "launch/trace/records.h"
#include "launch/trace/spans.h"
#include "launch/trace/summary.h"

struct mtlm_trace_windows {
    struct mtlm_trace_spans *rank; /* [ranks] all windows of a rank */
    /* [n_iterations][ranks] window of one iteration; empty if the window does
     * not count. */
    struct mtlm_trace_span *iteration;
};

/* Finds the windows.  Sets summary's origin, first and last iteration,
 * iterations and number of windows.  The caller destroys the result with
 * mtlm_trace_windows_destroy(). */
struct mtlm_trace_windows *mtlm_trace_windows_create(
    const struct mtlm_trace_records *records,
    struct mtlm_trace_summary *summary);

/* Frees windows of so many ranks; NULL is allowed. */
void mtlm_trace_windows_destroy(struct mtlm_trace_windows *windows, int ranks);

#endif /* MTLM_TRACE_WINDOWS_H */
