/* Measures bubble and overlap of an iteration while the next one runs.  Each
 * rank measures its own records.  Ranks exchange the send times of their
 * messages. */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "codelets/op_list.h"
#include "launch/report/traced_iteration.h"
#include "launch/trace/windows.h"
#include "runtime/base/clock.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/comm/activity.h"

/* The records [n] of some iterations. */
struct records {
    struct mtlm_record *record;
    size_t n;
};

/* Sleeps until nodes that ran at the iteration's end have ended, too.  Sleeps
 * past the end for the time of the iteration's longest node, at most a tenth of
 * the iteration. */
static void await_later_nodes(const struct records *all, int64_t e)
{
    int64_t first = INT64_MAX, last = INT64_MIN, longest = 0, until;
    struct timespec t;

    for (size_t i = 0; i < all->n; i++) {
        const struct mtlm_record *r = &all->record[i];

        if (r->iteration != e)
            continue;
        first = r->start_ns < first ? r->start_ns : first;
        last = r->end_ns > last ? r->end_ns : last;
        if (r->lane == MTLM_LANE_COMPUTE && r->end_ns - r->start_ns > longest)
            longest = r->end_ns - r->start_ns;
    }
    if (last < first)
        return;
    if (longest > (last - first) / 10)
        longest = (last - first) / 10;
    until = last + longest;
    t = (struct timespec){until / 1000000000, until % 1000000000};
    if (until > mtlm_now_ns())
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Sets swap[] to the ranks that exchange messages with this rank in iteration
 * e; both ends of a pair list each other.  Returns their number.  swap[] has
 * room for all records. */
static int find_peers(const struct records *all, int64_t e,
                      struct mtlm_swap *swap)
{
    int n = 0;

    for (size_t i = 0; i < all->n; i++) {
        const struct mtlm_record *r = &all->record[i];
        int k = 0;

        if (r->peer < 0 || r->iteration != e)
            continue;
        while (k < n && swap[k].peer != r->peer)
            k++;
        if (k == n)
            swap[n++] = (struct mtlm_swap){.peer = r->peer};
    }
    return n;
}

/* Pairs of a message's number and its send time on rank 0's clock. */
static int64_t *list_sends(const struct records *all, int peer,
                           int64_t offset_ns, int64_t *n)
{
    int64_t *pair = mtlm_calloc(2 * all->n, sizeof(*pair));

    *n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct mtlm_record *r = &all->record[i];

        if (r->op == MTLM_OP_SEND && r->peer == peer) {
            pair[(*n)++] = r->match;
            pair[(*n)++] = r->start_ns + offset_ns;
        }
    }
    return pair;
}

/* Trims a receive: it begins with the send.  Returns false if the send is
 * unknown: the receive has hardly begun. */
static bool trim_receive(struct mtlm_record *r, const struct mtlm_swap *swap,
                         int n, int64_t offset_ns)
{
    for (int i = 0; i < n; i++) {
        const int64_t *sent =
            swap[i].peer != r->peer || !swap[i].n_in
                ? NULL
                : bsearch(&r->match, swap[i].in, swap[i].n_in / 2,
                          2 * sizeof(*sent), mtlm_compare_int64);

        if (!sent)
            continue;
        mtlm_trace_trim_receive(r, sent[1] - offset_ns);
        return true;
    }
    return false;
}

static void trim_receives(struct records *all, int64_t e,
                          const struct mtlm_traced_rank *rank)
{
    struct mtlm_swap *swap = mtlm_calloc(all->n, sizeof(*swap));
    const int peers = find_peers(all, e, swap);
    size_t left = 0;

    for (int i = 0; i < peers; i++)
        swap[i].out = list_sends(all, swap[i].peer, rank->clock_offset_ns,
                                 &swap[i].n_out);
    mtlm_ranks_swap(rank->ranks, swap, peers);
    for (int i = 0; i < peers; i++)
        if (swap[i].n_in)
            qsort(swap[i].in, swap[i].n_in / 2, 2 * sizeof(*swap[i].in),
                  mtlm_compare_int64);
    for (size_t i = 0; i < all->n; i++) {
        struct mtlm_record *r = &all->record[i];

        if (r->op != MTLM_OP_RECV
            || trim_receive(r, swap, peers, rank->clock_offset_ns))
            all->record[left++] = *r;
    }
    all->n = left;
    for (int i = 0; i < peers; i++) {
        free(swap[i].out);
        free(swap[i].in);
    }
    free(swap);
}

/* Drops optimizer nodes after e, so that the window of e is the last one, and
 * turns this rank into rank 0. */
static void isolate_window(struct records *all, int64_t e)
{
    size_t left = 0;

    for (size_t i = 0; i < all->n; i++) {
        struct mtlm_record r = all->record[i];

        if (r.iteration > e && r.phase == MTLM_PHASE_OPTIMIZER)
            continue;
        r.rank = 0;
        if (r.peer >= 0)
            r.peer = 1;
        all->record[left++] = r;
    }
    all->n = left;
}

/* Measures this rank alone.  Returns false if the window does not count. */
static bool measure_window(const struct records *all, int workers,
                           struct mtlm_trace_usage *own)
{
    struct mtlm_trace_worker *worker = mtlm_calloc(workers, sizeof(*worker));
    const struct mtlm_trace_info info = {
        .ranks = 1, .worker = worker, .n_workers = workers};
    struct mtlm_trace_summary *s = mtlm_calloc(1, sizeof(*s));
    struct mtlm_trace_records *records;
    struct mtlm_trace_windows *windows;
    bool counts;

    for (int i = 0; i < workers; i++)
        worker[i] = (struct mtlm_trace_worker){0, i, NULL, true};
    records = mtlm_trace_records_create(all->record, all->n, &info);
    windows = mtlm_trace_windows_create(records, s);
    counts = s->windows == 1;
    if (counts)
        *own = mtlm_trace_usage_find(records, 0, &windows->rank[0]);
    mtlm_trace_windows_destroy(windows, 1);
    mtlm_trace_records_destroy(records);
    mtlm_trace_summary_destroy(s);
    free(worker);
    return counts;
}

/* Sums up over the ranks.  All zero: the window of some rank does not count. */
static struct mtlm_trace_usage sum_usage(struct mtlm_ranks *ranks, bool counts,
                                         const struct mtlm_trace_usage *own)
{
    double value[] = {counts, own->busy_ns, own->room_ns, own->comm_ns,
                      own->overlap_ns};

    mtlm_ranks_sum_all(ranks, value, 5);
    return value[0] == mtlm_ranks_size(ranks) ? (
               struct mtlm_trace_usage){value[1], value[2], value[3], value[4]}
                                              : (struct mtlm_trace_usage){0};
}

struct mtlm_trace_usage mtlm_traced_iteration(
    const struct mtlm_traced_rank *rank, int64_t e, int64_t nodes)
{
    struct mtlm_trace_usage own = {0};
    struct records all;
    bool counts;

    mtlm_activity_wait_begin(MTLM_WAITER_MAIN,
                             "the nodes of a traced iteration");
    mtlm_recorder_await(rank->recorder, e, nodes);
    mtlm_activity_wait_end(MTLM_WAITER_MAIN);
    all.record = mtlm_recorder_copy(rank->recorder, e - 1, &all.n);
    if (!rank->alone) {
        await_later_nodes(&all, e);
        free(all.record);
        all.record = mtlm_recorder_copy(rank->recorder, e - 1, &all.n);
    }
    trim_receives(&all, e, rank);
    isolate_window(&all, e);
    counts = measure_window(&all, rank->workers, &own);
    free(all.record);
    return sum_usage(rank->ranks, counts, &own);
}
