/* Bubble and overlap of an iteration while the next one runs.  Each rank looks
 * at its own records only; of the others it needs to know when they sent what
 * it has received. */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "codelets/op.h"
#include "launch/report/traced_iteration.h"
#include "launch/trace/summary.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/watchdog.h"

double mtlm_traced_bubble(const struct mtlm_traced *t)
{
    return t->room_ns > 0 ? 1 - t->busy_ns / t->room_ns : -1;
}

double mtlm_traced_overlap(const struct mtlm_traced *t)
{
    return t->comm_ns > 0 ? t->overlap_ns / t->comm_ns : -1;
}

void mtlm_traced_add(struct mtlm_traced *sum, const struct mtlm_traced *more)
{
    sum->busy_ns += more->busy_ns;
    sum->room_ns += more->room_ns;
    sum->comm_ns += more->comm_ns;
    sum->overlap_ns += more->overlap_ns;
}

/* The records [n] of some iterations. */
struct records {
    struct mtlm_record *record;
    size_t n;
};

/* What ran when the iteration's last node ended has ended as well after the
 * time of its longest node, a tenth of the iteration at most. */
static void let_others_end(const struct records *all, int64_t e)
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

/* The ranks with which this one exchanges messages in e: the same at both
 * ends.  Returns how many; swap[] has room for all records. */
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

/* Pairs of numbers: a message's, and when it was sent on rank 0's clock. */
static int64_t *sent_to(const struct records *all, int peer, int64_t offset_ns,
                        int64_t *n)
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

static int by_first(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* As mtlm_trace_trim_receives().  A receive whose send is not known has hardly
 * begun: false. */
static bool trim(struct mtlm_record *r, const struct mtlm_swap *swap, int n,
                 int64_t offset_ns)
{
    for (int i = 0; i < n; i++) {
        const int64_t *sent =
            swap[i].peer != r->peer || !swap[i].n_in
                ? NULL
                : bsearch(&r->match, swap[i].in, swap[i].n_in / 2,
                          2 * sizeof(*sent), by_first);

        if (!sent)
            continue;
        if (r->start_ns < sent[1] - offset_ns)
            r->start_ns = sent[1] - offset_ns;
        if (r->start_ns > r->end_ns)
            r->start_ns = r->end_ns;
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
        swap[i].out =
            sent_to(all, swap[i].peer, rank->clock_offset_ns, &swap[i].n_out);
    mtlm_ranks_swap(rank->ranks, swap, peers);
    for (int i = 0; i < peers; i++)
        if (swap[i].n_in)
            qsort(swap[i].in, swap[i].n_in / 2, 2 * sizeof(*swap[i].in),
                  by_first);
    for (size_t i = 0; i < all->n; i++) {
        struct mtlm_record *r = &all->record[i];

        if (r->op != MTLM_OP_RECV
            || trim(r, swap, peers, rank->clock_offset_ns))
            all->record[left++] = *r;
    }
    all->n = left;
    for (int i = 0; i < peers; i++) {
        free(swap[i].out);
        free(swap[i].in);
    }
    free(swap);
}

/* So that the window of e is the only one, and this rank the only one. */
static void isolate(struct records *all, int64_t e)
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

/* Of this rank alone; false: the window does not count. */
static bool summarize(const struct records *all, int workers,
                      struct mtlm_traced *own)
{
    struct mtlm_trace_worker *worker = mtlm_calloc(workers, sizeof(*worker));
    struct mtlm_trace_info info = {.ranks = 1,
                                   .stages = 1,
                                   .virtual_stages = 1,
                                   .microbatches = 1,
                                   .worker = worker,
                                   .n_workers = workers};
    struct mtlm_trace_summary *s;
    bool counts;

    for (int i = 0; i < workers; i++)
        worker[i] = (struct mtlm_trace_worker){0, i, NULL, true};
    s = mtlm_trace_summary_create(all->record, all->n, &info);
    counts = s->windows == 1;
    if (counts)
        *own = (struct mtlm_traced){s->rank[0].busy_ns,
                                    (double) s->rank[0].workers
                                        * s->rank[0].window_ns,
                                    s->rank[0].comm_ns, s->rank[0].overlap_ns};
    mtlm_trace_summary_destroy(s);
    free(worker);
    return counts;
}

struct mtlm_traced mtlm_traced_iteration(const struct mtlm_traced_rank *rank,
                                         int64_t e, int64_t nodes)
{
    struct mtlm_traced own = {0};
    struct records all;
    double value[5] = {0};

    mtlm_watchdog_begin(MTLM_WAITER_MAIN, "the nodes of a traced iteration");
    mtlm_recorder_await(rank->recorder, e, nodes);
    mtlm_watchdog_end(MTLM_WAITER_MAIN);
    all.record = mtlm_recorder_copy(rank->recorder, e - 1, &all.n);
    if (!rank->alone) {
        let_others_end(&all, e);
        free(all.record);
        all.record = mtlm_recorder_copy(rank->recorder, e - 1, &all.n);
    }
    trim_receives(&all, e, rank);
    isolate(&all, e);
    if (summarize(&all, rank->workers, &own)) {
        value[0] = 1;
        value[1] = own.busy_ns;
        value[2] = own.room_ns;
        value[3] = own.comm_ns;
        value[4] = own.overlap_ns;
    }
    free(all.record);
    mtlm_ranks_sum_all(rank->ranks, value, 5);
    /* Of all ranks, or of none. */
    return value[0] == mtlm_ranks_size(rank->ranks)
               ? (struct mtlm_traced){value[1], value[2], value[3], value[4]}
               : (struct mtlm_traced){0};
}
