/* Measures bubble and overlap of a rank from its records. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/usage.h"

/* Returns the time from the first window's begin to the last one's end; without
 * a window, a span that no record reaches. */
static struct mtlm_trace_span extent_of(const struct mtlm_trace_spans *window)
{
    if (!window->n)
        return (struct mtlm_trace_span){INT64_MAX, INT64_MIN};
    return (struct mtlm_trace_span){window->span[0].begin_ns,
                                    window->span[window->n - 1].end_ns};
}

/* Returns the index of the rank's first record that ends at ns or later, or an
 * index behind the rank's records.  A search, not a walk: a summary asks for
 * each iteration. */
static size_t first_reaching(const struct mtlm_trace_records *records, int rank,
                             int64_t ns)
{
    size_t low = records->first[rank], high = records->first[rank + 1];

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (records->latest_ns[middle] < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct mtlm_trace_usage mtlm_trace_usage_find(
    const struct mtlm_trace_records *records, int rank,
    const struct mtlm_trace_spans *window)
{
    struct mtlm_trace_usage usage = {0};
    struct mtlm_trace_spans busy = {0}, comm = {0}, inside, overlap;
    const size_t workers =
        records->first_worker[rank + 1] - records->first_worker[rank];
    const struct mtlm_trace_span all = extent_of(window);

    for (size_t i = first_reaching(records, rank, all.begin_ns);
         i < records->first[rank + 1]
         && records->record[i].start_ns <= all.end_ns;
         i++) {
        const struct mtlm_record *r = &records->record[i];

        if (r->end_ns < all.begin_ns)
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
