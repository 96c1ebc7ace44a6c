/* Finds the windows of the iterations: from one optimizer step to the next,
 * without validations and iterations that some rank did not finish. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/windows.h"
#include "runtime/base/memory.h"

static bool is_training(const struct mtlm_record *r)
{
    return r->phase != MTLM_PHASE_INIT && r->phase != MTLM_PHASE_EVAL
           && r->phase != MTLM_PHASE_SAVE;
}

/* Returns whether r may be an iteration's first node.  Excludes receives, which
 * may start long before. */
static bool begins_iteration(const struct mtlm_record *r)
{
    return r->lane == MTLM_LANE_COMPUTE && !mtlm_trace_is_input(r);
}

/* Origin, first and last iteration, and the span of all training. */
static struct mtlm_trace_span find_extent(
    const struct mtlm_trace_records *records,
    struct mtlm_trace_summary *summary)
{
    struct mtlm_trace_span all = {INT64_MAX, INT64_MIN};
    int first = INT32_MAX, last = -1;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (!is_training(r))
            continue;
        if (begins_iteration(r) && r->start_ns < all.begin_ns)
            all.begin_ns = r->start_ns;
        if (r->end_ns > all.end_ns)
            all.end_ns = r->end_ns;
        if (r->iteration < first)
            first = r->iteration;
        if (r->iteration > last)
            last = r->iteration;
    }
    if (all.begin_ns > all.end_ns) {
        all.begin_ns = all.end_ns =
            records->n ? records->record[0].start_ns : 0;
        first = last = -1;
    }
    summary->origin_ns = all.begin_ns;
    summary->first_iteration = first;
    summary->last_iteration = last;
    return all;
}

/* Returns end[e * ranks + r]: end of rank r's last optimizer node of iteration
 * first + e.  INT64_MIN: no such node.  The caller frees the result. */
static int64_t *optimizer_ends(const struct mtlm_trace_records *records,
                               int first, int last)
{
    const size_t n = (size_t) (last - first + 1) * records->ranks;
    int64_t *end = mtlm_calloc(n, sizeof(*end));

    for (size_t i = 0; i < n; i++)
        end[i] = INT64_MIN;
    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (r->phase == MTLM_PHASE_OPTIMIZER) {
            int64_t *e = &end[(size_t) (r->iteration - first) * records->ranks
                              + r->rank];

            if (*e < r->end_ns)
                *e = r->end_ns;
        }
    }
    return end;
}

static struct mtlm_trace_spans find_validation(
    const struct mtlm_trace_records *records, int rank)
{
    struct mtlm_trace_spans spans = {0};

    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (r->phase == MTLM_PHASE_EVAL)
            mtlm_trace_spans_add(&spans, r->start_ns, r->end_ns);
    }
    return spans;
}

/* Whether the windows between previous[ranks] and end[ranks] count. */
static bool window_counts(const int64_t *previous, const int64_t *end,
                          const struct mtlm_trace_spans *eval, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (previous[r] == INT64_MIN || end[r] == INT64_MIN
            || previous[r] >= end[r]
            || mtlm_trace_spans_inside(&eval[r], previous[r], end[r]))
            return false;
    return true;
}

static void add_windows(struct mtlm_trace_iteration *iteration,
                        struct mtlm_trace_windows *windows,
                        struct mtlm_trace_span *window, const int64_t *previous,
                        const int64_t *end, int ranks)
{
    iteration->counts = true;
    iteration->begin_ns = previous[0];
    iteration->end_ns = end[0];
    for (int r = 0; r < ranks; r++) {
        window[r] = (struct mtlm_trace_span){previous[r], end[r]};
        mtlm_trace_spans_add(&windows->rank[r], previous[r], end[r]);
        if (previous[r] < iteration->begin_ns)
            iteration->begin_ns = previous[r];
        if (end[r] > iteration->end_ns)
            iteration->end_ns = end[r];
    }
}

/* First start and last end of each iteration; leaves out those without a
 * record. */
static void find_iterations(const struct mtlm_trace_records *records,
                            struct mtlm_trace_summary *summary)
{
    const int first = summary->first_iteration;
    const int n = summary->last_iteration - first + 1;
    struct mtlm_trace_iteration *list = mtlm_calloc(n, sizeof(*list));

    for (int i = 0; i < n; i++) {
        list[i].iteration = first + i;
        list[i].begin_ns = INT64_MAX;
        list[i].end_ns = INT64_MIN;
    }
    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];
        struct mtlm_trace_iteration *e;

        if (!is_training(r))
            continue;
        e = &list[r->iteration - first];
        if (begins_iteration(r) && r->start_ns < e->begin_ns)
            e->begin_ns = r->start_ns;
        if (r->end_ns > e->end_ns)
            e->end_ns = r->end_ns;
    }
    summary->iteration = list;
    for (int i = 0; i < n; i++)
        if (list[i].begin_ns <= list[i].end_ns)
            list[summary->n_iterations++] = list[i];
}

static void find_windows(const struct mtlm_trace_records *records,
                         struct mtlm_trace_summary *summary,
                         struct mtlm_trace_windows *windows)
{
    const int ranks = records->ranks, first = summary->first_iteration;
    struct mtlm_trace_spans *eval = mtlm_calloc(ranks, sizeof(*eval));
    int64_t *end = optimizer_ends(records, first, summary->last_iteration);
    const int last = summary->last_iteration - records->overlapping;

    for (int r = 0; r < ranks; r++)
        eval[r] = find_validation(records, r);
    for (size_t i = 0; i < summary->n_iterations; i++) {
        struct mtlm_trace_iteration *e = &summary->iteration[i];
        const int64_t *mine = end + (size_t) (e->iteration - first) * ranks;

        if (e->iteration > first && e->iteration <= last
            && window_counts(mine - ranks, mine, eval, ranks)) {
            add_windows(e, windows, &windows->iteration[i * ranks],
                        mine - ranks, mine, ranks);
            summary->windows++;
        }
    }
    for (int r = 0; r < ranks; r++)
        free(eval[r].span);
    free(eval);
    free(end);
}

struct mtlm_trace_windows *mtlm_trace_windows_create(
    const struct mtlm_trace_records *records,
    struct mtlm_trace_summary *summary)
{
    struct mtlm_trace_windows *windows = mtlm_calloc(1, sizeof(*windows));
    struct mtlm_trace_span all = find_extent(records, summary);
    const int ranks = records->ranks;

    windows->rank = mtlm_calloc(ranks, sizeof(*windows->rank));
    if (summary->last_iteration < 0)
        return windows;
    find_iterations(records, summary);
    windows->iteration =
        mtlm_calloc(summary->n_iterations * ranks, sizeof(*windows->iteration));
    find_windows(records, summary, windows);
    /* Where no window counts, the last of several iterations stands for all. */
    if (summary->n_iterations > 1) {
        const struct mtlm_trace_iteration *last =
            &summary->iteration[summary->n_iterations - 1];

        all = (struct mtlm_trace_span){last->begin_ns, last->end_ns};
    }
    if (!summary->windows)
        for (int r = 0; r < ranks; r++)
            mtlm_trace_spans_add(&windows->rank[r], all.begin_ns, all.end_ns);
    return windows;
}

void mtlm_trace_windows_destroy(struct mtlm_trace_windows *windows, int ranks)
{
    if (!windows)
        return;
    for (int r = 0; r < ranks; r++)
        free(windows->rank[r].span);
    free(windows->rank);
    free(windows->iteration);
    free(windows);
}
