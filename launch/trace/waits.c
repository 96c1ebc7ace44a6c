/* Charges the idle time of workers to its causes, gap by gap. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/trace/waits.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* The records of one rank by their end, without sends: a node waits for a send
 * only to reuse its buffer. */
struct ended {
    const struct mtlm_record **record;
    size_t n;
};

/* A rank, and the summary that its waits are charged to. */
struct gaps {
    const struct mtlm_trace_records *records;
    const struct mtlm_trace_predecessors *edges; /* NULL: use ended */
    const struct mtlm_trace_spans *window;
    struct ended ended;
    struct mtlm_trace_summary *summary;
    size_t first;                       /* index of the rank's first wait */
    struct mtlm_trace_account *account; /* account of the current worker */
};

static int by_end(const void *pa, const void *pb)
{
    const struct mtlm_record *const *a = pa, *const *b = pb;

    return mtlm_compare((*a)->end_ns, (*b)->end_ns);
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

/* The record that ended last, at t or before; NULL: none. */
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

/* The predecessor of record i that ended last; NULL: none. */
static const struct mtlm_record *last_predecessor(
    const struct mtlm_trace_records *records,
    const struct mtlm_trace_predecessors *edges, size_t i)
{
    const struct mtlm_record *last = NULL;

    for (size_t k = edges->first[i]; k < edges->first[i + 1]; k++) {
        const struct mtlm_record *r = &records->record[edges->on[k]];

        if (!last || r->end_ns > last->end_ns)
            last = r;
    }
    return last;
}

static const struct mtlm_trace_wait no_wait = {
    .lane = -1, .phase = -1, .peer = -1};

static enum mtlm_trace_cause message_cause(const struct mtlm_record *r)
{
    switch (r->op) {
    case MTLM_OP_LOAD:
        return MTLM_CAUSE_LOAD;
    case MTLM_OP_STORE:
        return MTLM_CAUSE_STORE;
    case MTLM_OP_RECV:
        return MTLM_CAUSE_RECEIVE;
    case MTLM_OP_SEND:
        return MTLM_CAUSE_SEND;
    default:
        return MTLM_CAUSE_ALL_REDUCE;
    }
}

/* The record that record i waited for to the last; NULL: none. */
static const struct mtlm_record *last_before(const struct gaps *gaps, size_t i)
{
    return gaps->edges
               ? last_predecessor(gaps->records, gaps->edges, i)
               : last_ended(&gaps->ended, gaps->records->record[i].ready_ns);
}

/* The cause of a gap from begin_ns on, before record i was ready. */
static struct mtlm_trace_wait data_cause(const struct gaps *gaps, size_t i,
                                         int64_t begin_ns)
{
    const struct mtlm_record *node = &gaps->records->record[i];
    const struct mtlm_record *last = last_before(gaps, i);
    struct mtlm_trace_wait wait = no_wait;

    wait.rank = node->rank;
    wait.cause = MTLM_CAUSE_DATA;
    if (gaps->edges ? !last || last->end_ns <= begin_ns
                    : last && last->lane == MTLM_LANE_COMPUTE
                          && last->worker == node->worker) {
        /* The operands were there; the runtime had not released the node. */
        wait.cause = MTLM_CAUSE_RUNTIME;
    } else if (last && last->lane != MTLM_LANE_COMPUTE) {
        wait.cause = message_cause(last);
        wait.lane = last->lane;
        wait.phase = last->phase;
        wait.peer = last->peer;
    }
    return wait;
}

static bool same_cause(const struct mtlm_trace_wait *a,
                       const struct mtlm_trace_wait *b)
{
    return a->rank == b->rank && a->cause == b->cause && a->lane == b->lane
           && a->phase == b->phase && a->peer == b->peer;
}

static void add_to_account(struct mtlm_trace_account *account,
                           enum mtlm_trace_cause cause, int64_t ns)
{
    switch (cause) {
    case MTLM_CAUSE_RECEIVE:
    case MTLM_CAUSE_SEND:
    case MTLM_CAUSE_ALL_REDUCE:
    case MTLM_CAUSE_LOAD:
    case MTLM_CAUSE_STORE:
        account->comm_ns += ns;
        break;
    case MTLM_CAUSE_DATA:
        account->data_ns += ns;
        break;
    case MTLM_CAUSE_RUNTIME:
        account->runtime_ns += ns;
        break;
    default:
        account->end_ns += ns;
    }
}

/* Charges the part of begin_ns .. end_ns inside the windows to a cause. */
static void charge_wait(struct gaps *gaps, struct mtlm_trace_wait wait,
                        int64_t begin_ns, int64_t end_ns)
{
    const int64_t ns = mtlm_trace_spans_inside(gaps->window, begin_ns, end_ns);
    struct mtlm_trace_summary *summary = gaps->summary;
    size_t i = gaps->first;

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
    add_to_account(gaps->account, wait.cause, ns);
}

/* Charges what of a gap before record i a load spends on its slot, which a
 * store must leave first.  Returns the end of that part. */
static int64_t charge_store(struct gaps *gaps, size_t i, int64_t begin_ns,
                            int64_t end_ns)
{
    const struct mtlm_record *load = last_before(gaps, i), *store;
    struct mtlm_trace_wait wait = no_wait;

    if (!gaps->edges || !load || load->op != MTLM_OP_LOAD)
        return begin_ns;
    store = last_predecessor(gaps->records, gaps->edges,
                             load - gaps->records->record);
    if (!store || store->op != MTLM_OP_STORE || store->end_ns <= begin_ns)
        return begin_ns;
    wait.rank = load->rank;
    wait.cause = MTLM_CAUSE_STORE;
    wait.lane = store->lane;
    wait.phase = store->phase;
    if (store->end_ns < end_ns)
        end_ns = store->end_ns;
    charge_wait(gaps, wait, begin_ns, end_ns);
    return end_ns;
}

static void charge_gaps(struct gaps *gaps)
{
    const struct mtlm_trace_records *records = gaps->records;
    struct mtlm_trace_account *account = gaps->account;
    const int rank = account->rank;
    struct mtlm_trace_wait runtime = no_wait, end = no_wait;
    int64_t last = gaps->window->span[0].begin_ns;

    runtime.rank = end.rank = rank;
    runtime.cause = MTLM_CAUSE_RUNTIME;
    end.cause = MTLM_CAUSE_END;
    for (size_t i = records->first[rank]; i < records->first[rank + 1]; i++) {
        const struct mtlm_record *node = &records->record[i];

        if (node->lane != MTLM_LANE_COMPUTE || node->worker != account->worker)
            continue;
        account->compute_ns +=
            mtlm_trace_spans_inside(gaps->window, node->start_ns, node->end_ns);
        if (node->start_ns > last) {
            const int64_t ready = node->ready_ns < last ? last
                                  : node->ready_ns < node->start_ns
                                      ? node->ready_ns
                                      : node->start_ns;
            const int64_t stored = charge_store(gaps, i, last, ready);

            charge_wait(gaps, data_cause(gaps, i, last), stored, ready);
            charge_wait(gaps, runtime, ready, node->start_ns);
        }
        if (node->end_ns > last)
            last = node->end_ns;
    }
    charge_wait(gaps, end, last, INT64_MAX);
}

static const char *received_name(int phase)
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

static const char *reduced_name(int lane, int phase)
{
    if (lane == MTLM_LANE_TP)
        return "a tensor-parallel all-reduce";
    return phase == MTLM_PHASE_OPTIMIZER
               ? "an all-reduce before the optimizer step"
               : "an all-reduce";
}

/* Returns the part of an iteration for which a load or store is. */
static const char *disk_part(int phase)
{
    static const char *const part[] = {
        [MTLM_PHASE_FORWARD] = " in F",
        [MTLM_PHASE_BACKWARD] = " in B",
        [MTLM_PHASE_WEIGHT] = " in W",
        [MTLM_PHASE_OPTIMIZER] = " in the optimizer",
        [MTLM_PHASE_INIT] = " in the initialization",
        [MTLM_PHASE_EVAL] = " in the validation",
        [MTLM_PHASE_SAVE] = " in a checkpoint",
    };

    return part[phase];
}

static void put_text(struct mtlm_trace_wait *wait)
{
    char *const text = wait->text;
    const size_t size = sizeof(wait->text);
    const double percent = 100 * wait->share;

    switch (wait->cause) {
    case MTLM_CAUSE_RECEIVE:
        snprintf(text, size, "rank %d waited %.1f %% for %s from rank %d",
                 wait->rank, percent, received_name(wait->phase), wait->peer);
        break;
    case MTLM_CAUSE_SEND:
        snprintf(text, size,
                 "rank %d waited %.1f %% for rank %d to take its %s",
                 wait->rank, percent, wait->peer, received_name(wait->phase));
        break;
    case MTLM_CAUSE_ALL_REDUCE:
        snprintf(text, size, "rank %d waited %.1f %% for %s", wait->rank,
                 percent, reduced_name(wait->lane, wait->phase));
        break;
    case MTLM_CAUSE_LOAD:
        snprintf(text, size,
                 "rank %d waited %.1f %% for a load from the disk%s",
                 wait->rank, percent, disk_part(wait->phase));
        break;
    case MTLM_CAUSE_STORE:
        snprintf(text, size, "rank %d waited %.1f %% for a store to the disk%s",
                 wait->rank, percent, disk_part(wait->phase));
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
}

static int longest_first(const void *pa, const void *pb)
{
    const struct mtlm_trace_wait *a = pa, *b = pb;

    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    return a->rank - b->rank;
}

static void find_waits_of_rank(const struct mtlm_trace_records *records,
                               const struct mtlm_trace_predecessors *edges,
                               const struct mtlm_trace_spans *window, int rank,
                               struct mtlm_trace_summary *summary)
{
    struct gaps gaps = {.records = records,
                        .edges = edges,
                        .window = window,
                        .summary = summary,
                        .first = summary->n_waits};

    if (!edges)
        gaps.ended = sort_by_end(records, rank);
    for (size_t i = records->first_worker[rank];
         i < records->first_worker[rank + 1]; i++) {
        gaps.account = &summary->account[summary->n_accounts++];
        gaps.account->rank = rank;
        gaps.account->worker = records->worker[i];
        gaps.account->window_ns = summary->rank[rank].window_ns;
        if (window->n)
            charge_gaps(&gaps);
    }
    free(gaps.ended.record);
    for (size_t i = gaps.first; i < summary->n_waits; i++)
        summary->wait[i].share = (double) summary->wait[i].ns
                                 / ((double) summary->rank[rank].workers
                                    * summary->rank[rank].window_ns);
}

void mtlm_trace_find_waits(const struct mtlm_trace_records *records,
                           const struct mtlm_trace_predecessors *edges,
                           const struct mtlm_trace_spans *window,
                           struct mtlm_trace_summary *summary)
{
    summary->account = mtlm_calloc(records->first_worker[records->ranks],
                                   sizeof(*summary->account));
    for (int rank = 0; rank < records->ranks; rank++)
        find_waits_of_rank(records, edges, &window[rank], rank, summary);
    for (size_t i = 0; i < summary->n_waits; i++)
        put_text(&summary->wait[i]);
    if (summary->n_waits)
        qsort(summary->wait, summary->n_waits, sizeof(*summary->wait),
              longest_first);
}
