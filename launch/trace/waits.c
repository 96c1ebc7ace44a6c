/* Charges idle time to its causes. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/op.h"
#include "launch/trace/waits.h"
#include "runtime/memory.h"

/* The records of one rank by their end, but no sends: nothing waits for them
 * other than for the room in their buffers. */
struct ended {
    const struct mtlm_record **record;
    size_t n;
};

static int by_end(const void *pa, const void *pb)
{
    const struct mtlm_record *const *a = pa, *const *b = pb;

    return ((*a)->end_ns > (*b)->end_ns) - ((*a)->end_ns < (*b)->end_ns);
}

static struct ended sort_by_end(const struct mtlm_trace_records *records,
                                int rank)
{
    const size_t first = records->first[rank];
    struct ended ended = {
        mtlm_calloc(records->first[rank + 1] - first, sizeof(ended.record[0])),
        0};

    for (size_t i = first; i < records->first[rank + 1]; i++)
        if (records->record[i].op != MTLM_OP_SEND)
            ended.record[ended.n++] = &records->record[i];
    if (ended.n)
        qsort(ended.record, ended.n, sizeof(ended.record[0]), by_end);
    return ended;
}

/* What ended last, at t or before; NULL: nothing recorded. */
static const struct mtlm_record *last_ended(const struct ended *ended,
                                            int64_t t)
{
    size_t low = 0, high = ended->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (ended->record[middle]->end_ns <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? ended->record[low - 1] : NULL;
}

/* The cause of waiting for node, before it was ready. */
static struct mtlm_trace_wait data_cause(const struct ended *ended,
                                         const struct mtlm_record *node)
{
    const struct mtlm_record *last = last_ended(ended, node->ready_ns);
    struct mtlm_trace_wait wait = {.rank = node->rank,
                                   .cause = MTLM_CAUSE_DATA,
                                   .lane = -1,
                                   .phase = -1,
                                   .peer = -1};

    if (!last)
        return wait;
    if (last->lane != MTLM_LANE_COMPUTE) {
        wait.cause = last->op == MTLM_OP_RECV ? MTLM_CAUSE_RECEIVE
                                              : MTLM_CAUSE_ALL_REDUCE;
        wait.lane = last->lane;
        wait.phase = last->phase;
        wait.peer = last->peer;
    } else if (last->worker == node->worker) {
        /* Its operands were there; nobody had told the node yet. */
        wait.cause = MTLM_CAUSE_RUNTIME;
    }
    return wait;
}

static bool same_cause(const struct mtlm_trace_wait *a,
                       const struct mtlm_trace_wait *b)
{
    return a->rank == b->rank && a->cause == b->cause && a->lane == b->lane
           && a->phase == b->phase && a->peer == b->peer;
}

static void charge(struct mtlm_trace_summary *summary, size_t first_of_rank,
                   struct mtlm_trace_wait wait, int64_t ns)
{
    size_t i = first_of_rank;

    if (ns <= 0)
        return;
    while (i < summary->n_waits && !same_cause(&summary->wait[i], &wait))
        i++;
    if (i == summary->n_waits) {
        summary->wait = mtlm_realloc(summary->wait, i + 1, sizeof(wait));
        wait.ns = 0;
        summary->wait[summary->n_waits++] = wait;
    }
    summary->wait[i].ns += ns;
}

static void waits_of_worker(const struct mtlm_trace_records *records, int rank,
                            int worker, const struct mtlm_spans *window,
                            const struct ended *ended,
                            struct mtlm_trace_summary *summary, size_t first)
{
    const struct mtlm_trace_wait runtime = {
        rank, MTLM_CAUSE_RUNTIME, -1, -1, -1, 0, 0};
    const struct mtlm_trace_wait end = {rank, MTLM_CAUSE_END, -1, -1, -1, 0, 0};
    int64_t last = window->span[0].begin_ns;

    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *node = &records->record[i];

        if (node->lane != MTLM_LANE_COMPUTE || node->worker != worker)
            continue;
        if (node->start_ns > last) {
            const int64_t ready = node->ready_ns < last ? last
                                  : node->ready_ns < node->start_ns
                                      ? node->ready_ns
                                      : node->start_ns;

            charge(summary, first, data_cause(ended, node),
                   mtlm_spans_inside(window, last, ready));
            charge(summary, first, runtime,
                   mtlm_spans_inside(window, ready, node->start_ns));
        }
        if (node->end_ns > last)
            last = node->end_ns;
    }
    charge(summary, first, end, mtlm_spans_inside(window, last, INT64_MAX));
}

static int longest_first(const void *pa, const void *pb)
{
    const struct mtlm_trace_wait *a = pa, *b = pb;

    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    return a->rank - b->rank;
}

void mtlm_trace_find_waits(const struct mtlm_trace_records *records,
                           const struct mtlm_spans *window,
                           struct mtlm_trace_summary *summary)
{
    for (int rank = 0; rank < records->ranks; rank++) {
        const size_t first = summary->n_waits;
        const struct mtlm_trace_rank *r = &summary->rank[rank];
        struct ended ended;

        if (!window[rank].n)
            continue;
        ended = sort_by_end(records, rank);
        for (size_t i = records->first_worker[rank];
             i < records->first_worker[rank + 1]; i++)
            waits_of_worker(records, rank, records->worker[i], &window[rank],
                            &ended, summary, first);
        free(ended.record);
        for (size_t i = first; i < summary->n_waits; i++)
            summary->wait[i].share = (double) summary->wait[i].ns
                                     / ((double) r->workers * r->window_ns);
    }
    if (summary->n_waits)
        qsort(summary->wait, summary->n_waits, sizeof(*summary->wait),
              longest_first);
}

static const char *received(int phase)
{
    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return "activations";
    case MTLM_PHASE_BACKWARD:
        return "gradients";
    default:
        return "data";
    }
}

static const char *reduced(int lane, int phase)
{
    if (lane == MTLM_LANE_TP)
        return "a tensor-parallel all-reduce";
    return phase == MTLM_PHASE_OPTIMIZER
               ? "an all-reduce before the optimizer step"
               : "an all-reduce";
}

char *mtlm_trace_wait_text(const struct mtlm_trace_wait *wait, char *text,
                           size_t size)
{
    const double percent = 100 * wait->share;

    switch (wait->cause) {
    case MTLM_CAUSE_RECEIVE:
        snprintf(text, size, "rank %d waited %.1f %% for %s from rank %d",
                 wait->rank, percent, received(wait->phase), wait->peer);
        break;
    case MTLM_CAUSE_ALL_REDUCE:
        snprintf(text, size, "rank %d waited %.1f %% for %s", wait->rank,
                 percent, reduced(wait->lane, wait->phase));
        break;
    case MTLM_CAUSE_DATA:
        snprintf(text, size, "rank %d waited %.1f %% for data of its own",
                 wait->rank, percent);
        break;
    case MTLM_CAUSE_RUNTIME:
        snprintf(text, size, "rank %d waited %.1f %% for the runtime",
                 wait->rank, percent);
        break;
    case MTLM_CAUSE_END:
        snprintf(text, size, "rank %d had nothing left to do for %.1f %%",
                 wait->rank, percent);
        break;
    case MTLM_CAUSE_COUNT:
        assert(!"a cause");
    }
    return text;
}
