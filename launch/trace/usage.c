/* Measures bubble and overlap of a rank from its records. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/usage.h"

static bool is_outside(const struct mtlm_record *r,
                       const struct mtlm_trace_spans *window)
{
    return !window->n || r->end_ns < window->span[0].begin_ns
           || r->start_ns > window->span[window->n - 1].end_ns;
}

struct mtlm_trace_usage mtlm_trace_usage_find(
    const struct mtlm_trace_records *records, int rank,
    const struct mtlm_trace_spans *window)
{
    struct mtlm_trace_usage usage = {0};
    struct mtlm_trace_spans busy = {0}, comm = {0}, inside, overlap;
    const size_t workers =
        records->first_worker[rank + 1] - records->first_worker[rank];

    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (is_outside(r, window))
            continue;
        if (mtlm_trace_is_busy(records, r)) {
            usage.busy_ns +=
                mtlm_trace_spans_inside(window, r->start_ns, r->end_ns);
            mtlm_trace_spans_add(&busy, r->start_ns, r->end_ns);
        } else if (r->lane != MTLM_LANE_COMPUTE && r->lane != MTLM_LANE_DISK) {
            mtlm_trace_spans_add(&comm, r->start_ns, r->end_ns);
        }
    }
    inside = mtlm_trace_spans_intersect(&comm, window);
    overlap = mtlm_trace_spans_intersect(&inside, &busy);
    usage.room_ns = (double) workers * mtlm_trace_spans_length(window);
    usage.comm_ns = mtlm_trace_spans_length(&inside);
    usage.overlap_ns = mtlm_trace_spans_length(&overlap);
    free(busy.span);
    free(comm.span);
    free(inside.span);
    free(overlap.span);
    return usage;
}

void mtlm_trace_usage_add(struct mtlm_trace_usage *sum,
                          const struct mtlm_trace_usage *more)
{
    sum->busy_ns += more->busy_ns;
    sum->room_ns += more->room_ns;
    sum->comm_ns += more->comm_ns;
    sum->overlap_ns += more->overlap_ns;
}

double mtlm_trace_usage_bubble(const struct mtlm_trace_usage *u)
{
    return u->room_ns > 0 ? 1 - u->busy_ns / u->room_ns : -1;
}

double mtlm_trace_usage_overlap(const struct mtlm_trace_usage *u)
{
    return u->comm_ns > 0 ? u->overlap_ns / u->comm_ns : -1;
}
