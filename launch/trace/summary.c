/* Bubble, stage span and overlap, from the records. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/operations.h"
#include "launch/trace/path.h"
#include "launch/trace/predecessors.h"
#include "launch/trace/records.h"
#include "launch/trace/span.h"
#include "launch/trace/summary.h"
#include "launch/trace/waits.h"
#include "runtime/base/memory.h"

static void summarize_rank(const struct mtlm_trace_records *records, int rank,
                           const struct mtlm_spans *window,
                           struct mtlm_trace_rank *result)
{
    struct mtlm_spans busy = {0}, comm = {0}, inside, overlap;

    result->workers =
        records->first_worker[rank + 1] - records->first_worker[rank];
    result->window_ns = mtlm_spans_length(window);
    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *r = &records->record[i];

        if (!window->n || r->end_ns < window->span[0].begin_ns
            || r->start_ns > window->span[window->n - 1].end_ns)
            continue;
        if (mtlm_trace_is_busy(records, r)) {
            result->busy_ns +=
                mtlm_spans_inside(window, r->start_ns, r->end_ns);
            mtlm_spans_add(&busy, r->start_ns, r->end_ns);
        } else if (r->lane != MTLM_LANE_COMPUTE) {
            mtlm_spans_add(&comm, r->start_ns, r->end_ns);
        }
    }
    inside = mtlm_spans_intersect(&comm, window);
    overlap = mtlm_spans_intersect(&inside, &busy);
    result->comm_ns = mtlm_spans_length(&inside);
    result->overlap_ns = mtlm_spans_length(&overlap);
    if (result->workers && result->window_ns)
        result->bubble =
            1
            - result->busy_ns / ((double) result->workers * result->window_ns);
    free(busy.span);
    free(comm.span);
    free(inside.span);
    free(overlap.span);
}

/* Bubble and overlap of each iteration whose window counts. */
static void summarize_iterations(const struct mtlm_trace_records *records,
                                 const struct mtlm_trace_windows *windows,
                                 struct mtlm_trace_summary *summary)
{
    for (size_t i = 0; i < summary->n_iterations; i++) {
        struct mtlm_trace_iteration *e = &summary->iteration[i];
        double busy = 0, room = 0, comm = 0, overlap = 0;

        if (!e->counts)
            continue;
        for (int r = 0; r < records->ranks; r++) {
            const struct mtlm_spans window = {
                &windows->iteration[i * records->ranks + r], 1, 1};
            struct mtlm_trace_rank of = {0};

            summarize_rank(records, r, &window, &of);
            room += (double) of.workers * of.window_ns;
            busy += of.busy_ns;
            comm += of.comm_ns;
            overlap += of.overlap_ns;
        }
        if (room > 0)
            e->bubble = 1 - busy / room;
        e->overlap = comm > 0 ? overlap / comm : -1;
    }
}

/* One rank's F, B and W of one iteration. */
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

        /* Tokens may be read long before they are needed. */
        if (r->phase > MTLM_PHASE_WEIGHT || mtlm_trace_is_host(r)
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
    struct stage *stage = find_stages(records, first, summary->last_iteration);
    int n = 0;

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

static void total(struct mtlm_trace_summary *summary)
{
    double busy = 0, room = 0, window = 0;

    for (int r = 0; r < summary->ranks; r++) {
        const struct mtlm_trace_rank *rank = &summary->rank[r];

        busy += rank->busy_ns;
        room += (double) rank->workers * rank->window_ns;
        window += rank->window_ns;
        summary->comm_ns += rank->comm_ns;
        summary->overlap_ns += rank->overlap_ns;
    }
    if (room > 0)
        summary->bubble = 1 - busy / room;
    if (busy > 0)
        summary->bubble_of_ideal = room / busy - 1;
    if (summary->ranks)
        summary->makespan_ns =
            window / summary->ranks / (summary->windows ? summary->windows : 1);
    summary->overlap =
        summary->comm_ns ? (double) summary->overlap_ns / summary->comm_ns : -1;
}

struct mtlm_trace_summary *mtlm_trace_summary_create(
    const struct mtlm_record *record, size_t n,
    const struct mtlm_trace_info *info)
{
    struct mtlm_trace_records *records =
        mtlm_trace_records_create(record, n, info);
    struct mtlm_trace_summary *summary = mtlm_calloc(1, sizeof(*summary));
    struct mtlm_trace_windows *windows;
    struct mtlm_trace_predecessors *edges;

    mtlm_trace_trim_receives(records);
    summary->ranks = info->ranks;
    summary->rank = mtlm_calloc(info->ranks, sizeof(*summary->rank));
    if (info->stages > 0 && info->microbatches > 0) {
        const int v = info->virtual_stages > 1 ? info->virtual_stages : 1;
        const double idle = info->stages - 1;

        summary->ideal_1f1b = idle / ((double) v * info->microbatches + idle);
    }
    windows = mtlm_trace_windows_create(records, summary);
    for (int r = 0; r < info->ranks; r++)
        summarize_rank(records, r, &windows->rank[r], &summary->rank[r]);
    summarize_iterations(records, windows, summary);
    summarize_spans(records, summary);
    mtlm_trace_find_ops(records, summary);
    mtlm_trace_find_classes(records, windows->rank, summary);
    total(summary);
    edges = mtlm_trace_predecessors_create(records, info);
    mtlm_trace_find_waits(records, edges, windows->rank, summary);
    mtlm_trace_find_paths(records, edges, summary);

    mtlm_trace_predecessors_destroy(edges);
    mtlm_trace_windows_destroy(windows, info->ranks);
    mtlm_trace_records_destroy(records);
    return summary;
}

void mtlm_trace_summary_destroy(struct mtlm_trace_summary *summary)
{
    if (!summary)
        return;
    free(summary->rank);
    free(summary->iteration);
    free(summary->op);
    free(summary->wait);
    free(summary->account);
    free(summary);
}
