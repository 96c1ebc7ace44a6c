#ifndef MTLM_TRACE_SPANS_H
#define MTLM_TRACE_SPANS_H

/* Sets of moments: disjoint spans of time in ascending order, with their
 * length and intersection.  A lower layer than records and summary. */

#include <stddef.h>
#include <stdint.h>

struct mtlm_trace_span {
    int64_t begin_ns, end_ns;
};

struct mtlm_trace_spans {
    struct mtlm_trace_span *span; /* [n], owned by whoever adds */
    size_t n, capacity;
};

/* Adds a span.  Calls come in ascending begin_ns; overlapping spans merge. */
void mtlm_trace_spans_add(struct mtlm_trace_spans *spans, int64_t begin_ns,
                          int64_t end_ns);

/* Adds a span in any order. */
void mtlm_trace_spans_insert(struct mtlm_trace_spans *spans, int64_t begin_ns,
                             int64_t end_ns);

/* Nanoseconds that the set covers. */
int64_t mtlm_trace_spans_length(const struct mtlm_trace_spans *spans);

/* Nanoseconds of [begin_ns, end_ns] that the set covers. */
int64_t mtlm_trace_spans_inside(const struct mtlm_trace_spans *spans,
                                int64_t begin_ns, int64_t end_ns);

/* Intersection of a and b.  The caller frees its span. */
struct mtlm_trace_spans mtlm_trace_spans_intersect(
    const struct mtlm_trace_spans *a, const struct mtlm_trace_spans *b);

#endif /* MTLM_TRACE_SPANS_H */
