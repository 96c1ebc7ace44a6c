#ifndef MTLM_SPAN_H
#define MTLM_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "launch/trace/records.h"
#include "launch/trace/summary.h"

/* Sets of moments: disjoint spans of time, in order. */
struct mtlm_span {
    int64_t begin_ns, end_ns;
};

struct mtlm_spans {
    struct mtlm_span *span;
    size_t n, capacity;
};

/* Adds a span; spans must come by begin_ns, and may overlap. */
void mtlm_spans_add(struct mtlm_spans *spans, int64_t begin_ns, int64_t end_ns);
int64_t mtlm_spans_length(const struct mtlm_spans *spans);

/* How long a span is inside spans. */
int64_t mtlm_spans_inside(const struct mtlm_spans *spans, int64_t begin_ns,
                          int64_t end_ns);

/* What a and b have in common; the caller frees its span. */
struct mtlm_spans mtlm_spans_intersect(const struct mtlm_spans *a,
                                       const struct mtlm_spans *b);

/* The windows, as summary.h defines them. */
struct mtlm_trace_windows {
    struct mtlm_spans *rank; /* [ranks] all windows of that rank */
    /* [n_iterations][ranks] window of one iteration, empty where it does not
     * count. */
    struct mtlm_span *iteration;
};

/* Fills in summary's origin, iterations and number of windows, too.  The
 * caller destroys the result. */
struct mtlm_trace_windows *mtlm_trace_windows_create(
    const struct mtlm_trace_records *records,
    struct mtlm_trace_summary *summary);
void mtlm_trace_windows_destroy(struct mtlm_trace_windows *windows, int ranks);

#endif /* MTLM_SPAN_H */
