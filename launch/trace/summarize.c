/* Computes the summary: calls every finder of this room in turn, then averages
 * over iterations and ranks. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/operations.h"
#include "launch/trace/path.h"
#include "launch/trace/predecessors.h"
#include "launch/trace/summarize.h"
#include "launch/trace/usage.h"
#include "launch/trace/waits.h"
#include "launch/trace/windows.h"
#include "runtime/base/memory.h"

/* Adds the rank's usage to sum. */
static void summarize_rank(const struct mtlm_trace_records *records, int rank,
                           const struct mtlm_trace_spans *window,
                           struct mtlm_trace_rank *result,
                           struct mtlm_trace_usage *sum)
{
    const struct mtlm_trace_usage usage =
        mtlm_trace_usage_find(records, rank, window);

    result->workers =
        records->first_worker[rank + 1] - records->first_worker[rank];
    result->window_ns = mtlm_trace_spans_length(window);
    result->busy_ns = usage.busy_ns;
    result->comm_ns = usage.comm_ns;
    result->overlap_ns = usage.overlap_ns;
    if (usage.room_ns > 0)
        result->bubble = mtlm_trace_usage_bubble(&usage);
    mtlm_trace_usage_add(sum, &usage);
}

/* Bubble and overlap of each iteration whose window counts. */
static void summarize_iterations(const struct mtlm_trace_records *records,
                                 const struct mtlm_trace_windows *windows,
                                 struct mtlm_trace_summary *summary)
{
    for (size_t i = 0; i < summary->n_iterations; i++) {
        struct mtlm_trace_iteration *e = &summary->iteration[i];
        struct mtlm_trace_usage usage = {0};

        if (!e->counts)
            continue;
        for (int r = 0; r < records->ranks; r++) {
            const struct mtlm_trace_spans window = {
                &windows->iteration[i * records->ranks + r], 1, 1};
            const struct mtlm_trace_usage rank =
                mtlm_trace_usage_find(records, r, &window);

            mtlm_trace_usage_add(&usage, &rank);
        }
        if (usage.room_ns > 0)
            e->bubble = mtlm_trace_usage_bubble(&usage);
        e->overlap = mtlm_trace_usage_overlap(&usage);
    }
}

/* F, B and W of one rank in one iteration. */
struct stage {
    int64_t first_ns, last_ns, busy_ns;
};

static struct stage *find_stages(const struct mtlm_trace_records *records,
                                 int first, int last)
{
    const size_t n = (size_t) (last - first + 1) * records->ranks;
    struct stage *stage = mtlm_calloc(n, sizeof(*stage));

    for (size_t i = 0; i < n; i++)
        stage[i] = (struct stage){INT64_MAX, INT64_MIN, 0};
    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];
        struct stage *s;

        if (r->phase > MTLM_PHASE_WEIGHT || mtlm_trace_is_input(r)
            || !mtlm_trace_is_busy(records, r))
            continue;
        s = &stage[(size_t) (r->iteration - first) * records->ranks + r->rank];
        if (r->start_ns < s->first_ns)
            s->first_ns = r->start_ns;
        if (r->end_ns > s->last_ns)
            s->last_ns = r->end_ns;
        s->busy_ns += r->end_ns - r->start_ns;
    }
    return stage;
}

static void summarize_spans(const struct mtlm_trace_records *records,
                            struct mtlm_trace_summary *summary)
{
    const int first = summary->first_iteration;
    struct stage *stage;
    int n = 0;

    if (records->overlapping) /* a span has passes of three iterations */
        return;
    stage = find_stages(records, first, summary->last_iteration);
    for (size_t i = 0; i < summary->n_iterations; i++) {
        struct mtlm_trace_iteration *e = &summary->iteration[i];
        const struct stage *s =
            stage + (size_t) (e->iteration - first) * records->ranks;

        for (int r = 0; r < records->ranks; r++)
            if (s[r].first_ns < s[r].last_ns
                && s[r].last_ns - s[r].first_ns > e->span_ns) {
                e->span_ns = s[r].last_ns - s[r].first_ns;
                e->span_rank = r;
            }
        if (!e->span_ns)
            continue;
        e->span_bubble =
            1
            - s[e->span_rank].busy_ns
                  / ((double) summary->rank[e->span_rank].workers * e->span_ns);
        summary->span_ns += e->span_ns;
        summary->span_bubble += e->span_bubble;
        n++;
    }
    if (n) {
        summary->span_ns /= n;
        summary->span_bubble /= n;
    }
    free(stage);
}

/* Bubble, overlap and mean window from the usage of all ranks. */
static void summarize_usage(const struct mtlm_trace_usage *usage,
                            struct mtlm_trace_summary *summary)
{
    double window = 0;

    for (int r = 0; r < summary->ranks; r++)
        window += summary->rank[r].window_ns;
    summary->comm_ns = usage->comm_ns;
    summary->overlap_ns = usage->overlap_ns;
    if (usage->room_ns > 0)
        summary->bubble = mtlm_trace_usage_bubble(usage);
    if (usage->busy_ns > 0)
        summary->bubble_of_ideal = usage->room_ns / usage->busy_ns - 1;
    if (summary->ranks)
        summary->makespan_ns =
            window / summary->ranks / (summary->windows ? summary->windows : 1);
    summary->overlap = mtlm_trace_usage_overlap(usage);
}

struct mtlm_trace_summary *mtlm_trace_summarize(
    const struct mtlm_record *record, size_t n,
    const struct mtlm_trace_info *info)
{
    struct mtlm_trace_records *records =
        mtlm_trace_records_create(record, n, info);
    struct mtlm_trace_summary *summary = mtlm_calloc(1, sizeof(*summary));
    struct mtlm_trace_windows *windows;
    struct mtlm_trace_predecessors *edges;
    struct mtlm_trace_usage usage = {0};

    mtlm_trace_trim_receives(records);
    summary->ranks = info->ranks;
    summary->rank = mtlm_calloc(info->ranks, sizeof(*summary->rank));
    if (info->stages > 0 && info->microbatches > 0) {
        const int v = mtlm_trace_chunks(info);
        const double idle = info->stages - 1;

        summary->ideal_1f1b = idle / ((double) v * info->microbatches + idle);
    }
    windows = mtlm_trace_windows_create(records, summary);
    for (int r = 0; r < info->ranks; r++)
        summarize_rank(records, r, &windows->rank[r], &summary->rank[r],
                       &usage);
    summarize_iterations(records, windows, summary);
    summarize_spans(records, summary);
    mtlm_trace_find_ops(records, summary);
    mtlm_trace_find_classes(records, windows->rank, summary);
    summarize_usage(&usage, summary);
    edges = mtlm_trace_predecessors_create(records, info);
    mtlm_trace_find_waits(records, edges, windows->rank, summary);
    mtlm_trace_find_paths(records, edges, summary);

    mtlm_trace_predecessors_destroy(edges);
    mtlm_trace_windows_destroy(windows, info->ranks);
    mtlm_trace_records_destroy(records);
    return summary;
}
