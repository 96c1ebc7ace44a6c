/* Sorts the records, and finds the send of each receive. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "codelets/op.h"
#include "codelets/op_list.h"
#include "launch/trace/messages.h"
#include "launch/trace/records.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

static int by_rank_and_start(const void *pa, const void *pb)
{
    const struct mtlm_record *a = pa, *b = pb;
    int c = mtlm_compare(a->rank, b->rank);

    if (!c)
        c = mtlm_compare(a->start_ns, b->start_ns);
    if (!c)
        c = mtlm_compare(a->end_ns, b->end_ns);
    return c ? c : mtlm_compare(a->job, b->job);
}

static int by_number(const void *pa, const void *pb)
{
    const int *a = pa, *b = pb;

    return mtlm_compare(*a, *b);
}

/* Adds worker to the n at list, unless it is there; returns the new n. */
static size_t add_worker(int *list, size_t n, int worker)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == worker)
            return n;
    list[n] = worker;
    return n + 1;
}

static void find_workers(struct mtlm_trace_records *records,
                         const struct mtlm_trace_info *info)
{
    size_t total = 0, capacity = 0;

    for (int rank = 0; rank < records->ranks; rank++) {
        const size_t first = records->first[rank];
        const size_t end = records->first[rank + 1];
        size_t n = 0;

        /* Room for all workers that this rank may add. */
        records->worker = mtlm_make_room(
            records->worker, &capacity, total + (end - first) + info->n_workers,
            sizeof(*records->worker));
        int *list = records->worker + total;

        for (size_t i = 0; i < info->n_workers; i++)
            if (info->worker[i].rank == rank && info->worker[i].compute)
                n = add_worker(list, n, info->worker[i].worker);
        for (size_t i = first; i < end; i++) {
            const struct mtlm_record *r = &records->record[i];

            if (r->lane == MTLM_LANE_COMPUTE && !mtlm_trace_is_host(r))
                n = add_worker(list, n, r->worker);
        }
        if (n)
            qsort(list, n, sizeof(*list), by_number);
        records->first_worker[rank] = total;
        total += n;
    }
    records->first_worker[records->ranks] = total;
}

/* A record with its issue time, sorted together. */
struct issued {
    struct mtlm_record record; /* first, for by_rank_and_start() */
    int64_t issue_ns;
};

static void find_latest_ends(struct mtlm_trace_records *records)
{
    int64_t *latest = records->latest_ns;

    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];

        latest[i] = r->end_ns;
        if (i > 0 && r[-1].rank == r->rank && latest[i - 1] > latest[i])
            latest[i] = latest[i - 1];
    }
}

static void sort_records(struct mtlm_trace_records *records)
{
    struct issued *list = mtlm_calloc(records->n, sizeof(*list));

    for (size_t i = 0; i < records->n; i++)
        list[i] = (struct issued){records->record[i], records->issue_ns[i]};
    if (records->n)
        qsort(list, records->n, sizeof(*list), by_rank_and_start);
    for (size_t i = 0; i < records->n; i++) {
        records->record[i] = list[i].record;
        records->issue_ns[i] = list[i].issue_ns;
    }
    free(list);
    find_latest_ends(records);
    free(records->met_ns);
    records->met_ns = mtlm_trace_meetings(records->record, records->n);
}

struct mtlm_trace_records *mtlm_trace_records_create(
    const struct mtlm_record *record, size_t n,
    const struct mtlm_trace_info *info)
{
    struct mtlm_trace_records *records = mtlm_calloc(1, sizeof(*records));
    size_t i = 0;

    records->n = n;
    records->ranks = info->ranks;
    records->overlapping = info->overlapping;
    records->record = mtlm_calloc(n, sizeof(*record));
    records->issue_ns = mtlm_calloc(n, sizeof(*records->issue_ns));
    records->latest_ns = mtlm_calloc(n, sizeof(*records->latest_ns));
    for (size_t k = 0; k < n; k++) {
        records->record[k] = record[k];
        records->issue_ns[k] = record[k].start_ns;
    }
    sort_records(records);

    records->first = mtlm_calloc(info->ranks + 1, sizeof(*records->first));
    for (int rank = 0; rank < info->ranks; rank++) {
        records->first[rank] = i;
        while (i < n && records->record[i].rank == rank)
            i++;
    }
    records->first[info->ranks] = i;
    assert(i == n);

    records->first_worker =
        mtlm_calloc(info->ranks + 1, sizeof(*records->first_worker));
    find_workers(records, info);
    return records;
}

void mtlm_trace_records_destroy(struct mtlm_trace_records *records)
{
    if (!records)
        return;
    free(records->record);
    free(records->met_ns);
    free(records->issue_ns);
    free(records->latest_ns);
    free(records->first);
    free(records->worker);
    free(records->first_worker);
    free(records);
}

static bool worker_counts(const struct mtlm_trace_records *records, int rank,
                          int worker)
{
    for (size_t i = records->first_worker[rank];
         i < records->first_worker[rank + 1]; i++)
        if (records->worker[i] == worker)
            return true;
    return false;
}

bool mtlm_trace_is_busy(const struct mtlm_trace_records *records,
                        const struct mtlm_record *record)
{
    return record->lane == MTLM_LANE_COMPUTE
           && worker_counts(records, record->rank, record->worker);
}

/* A send or receive. */
struct transfer {
    /* from, to, match; if match is unknown, also phase, iteration,
     * microbatch */
    int64_t key[6];
    int64_t start_ns;
    struct mtlm_record *record;
};

static int by_key_and_start(const void *pa, const void *pb)
{
    const struct transfer *a = pa, *b = pb;

    for (int i = 0; i < 6; i++)
        if (a->key[i] != b->key[i])
            return mtlm_compare(a->key[i], b->key[i]);
    return mtlm_compare(a->start_ns, b->start_ns);
}

static int same_key(const struct transfer *a, const struct transfer *b)
{
    struct transfer c = *b;

    c.start_ns = a->start_ns;
    return by_key_and_start(a, &c);
}

static size_t list_transfers(struct mtlm_trace_records *records, int op,
                             struct transfer *list)
{
    size_t n = 0;

    for (size_t i = 0; i < records->n; i++) {
        struct mtlm_record *r = &records->record[i];
        const bool send = r->op == MTLM_OP_SEND, known = r->match >= 0;

        if (r->op != op)
            continue;
        list[n++] = (struct transfer){
            .key = {send ? r->rank : r->peer, send ? r->peer : r->rank,
                    r->match, known ? 0 : r->phase, known ? 0 : r->iteration,
                    known ? 0 : r->microbatch},
            .start_ns = r->start_ns,
            .record = r,
        };
    }
    if (n)
        qsort(list, n, sizeof(*list), by_key_and_start);
    return n;
}

void mtlm_trace_trim_receive(struct mtlm_record *receive, int64_t sent_ns)
{
    if (receive->start_ns < sent_ns)
        receive->start_ns = sent_ns;
    /* Clocks agree to about a microsecond only. */
    if (receive->start_ns > receive->end_ns)
        receive->start_ns = receive->end_ns;
}

void mtlm_trace_trim_receives(struct mtlm_trace_records *records)
{
    struct transfer *send = mtlm_calloc(records->n, sizeof(*send));
    struct transfer *recv = mtlm_calloc(records->n, sizeof(*recv));
    const size_t n_send = list_transfers(records, MTLM_OP_SEND, send);
    const size_t n_recv = list_transfers(records, MTLM_OP_RECV, recv);
    size_t s = 0, r = 0;

    /* Messages with equal keys match in order: the first sent is the first
     * received. */
    while (s < n_send && r < n_recv) {
        const int c = same_key(&send[s], &recv[r]);

        if (c == 0)
            mtlm_trace_trim_receive(recv[r].record, send[s].start_ns);
        s += c <= 0;
        r += c >= 0;
    }
    free(send);
    free(recv);
    sort_records(records);
}

bool mtlm_trace_is_host(const struct mtlm_record *record)
{
    return mtlm_ops[record->op]->op_class == MTLM_CLASS_HOST;
}

bool mtlm_trace_is_input(const struct mtlm_record *record)
{
    return record->op == MTLM_OP_FILL || mtlm_trace_is_host(record);
}

int mtlm_trace_chunk(const struct mtlm_trace_info *info,
                     const struct mtlm_record *record)
{
    return record->stage < 0 || info->stages < 1 ? -1
                                                 : record->stage / info->stages;
}

const char *mtlm_trace_op_name(const struct mtlm_record *record)
{
    return mtlm_ops[record->op]->name;
}

enum mtlm_trace_class mtlm_trace_class(const struct mtlm_record *record)
{
    static const enum mtlm_trace_class of_phase[] = {
        [MTLM_PHASE_FORWARD] = MTLM_TRACE_F,
        [MTLM_PHASE_BACKWARD] = MTLM_TRACE_B,
        [MTLM_PHASE_WEIGHT] = MTLM_TRACE_W,
        [MTLM_PHASE_OPTIMIZER] = MTLM_TRACE_OPT,
        [MTLM_PHASE_INIT] = MTLM_TRACE_INIT,
        [MTLM_PHASE_EVAL] = MTLM_TRACE_EVAL,
        [MTLM_PHASE_SAVE] = MTLM_TRACE_SAVE,
    };

    if (record->op == MTLM_OP_SEND)
        return MTLM_TRACE_SEND;
    if (record->op == MTLM_OP_RECV)
        return MTLM_TRACE_RECV;
    if (record->op == MTLM_OP_LOAD)
        return MTLM_TRACE_LOAD;
    if (record->op == MTLM_OP_STORE)
        return MTLM_TRACE_STORE;
    if (mtlm_ops[record->op]->op_class == MTLM_CLASS_COLLECTIVE)
        return record->lane == MTLM_LANE_DP ? MTLM_TRACE_DP : MTLM_TRACE_AR;
    return of_phase[record->phase];
}

const char *mtlm_trace_class_name(enum mtlm_trace_class class)
{
    static const char *const name[] = {
        [MTLM_TRACE_F] = "F",         [MTLM_TRACE_B] = "B",
        [MTLM_TRACE_W] = "W",         [MTLM_TRACE_OPT] = "OPT",
        [MTLM_TRACE_INIT] = "INIT",   [MTLM_TRACE_EVAL] = "EVAL",
        [MTLM_TRACE_AR] = "AR",       [MTLM_TRACE_SEND] = "SEND",
        [MTLM_TRACE_RECV] = "RECV",   [MTLM_TRACE_DP] = "DP",
        [MTLM_TRACE_SAVE] = "SAVE",   [MTLM_TRACE_LOAD] = "LOAD",
        [MTLM_TRACE_STORE] = "STORE",
    };

    return name[class];
}

const char *mtlm_trace_lane_name(int lane)
{
    static const char *const name[] = {[MTLM_LANE_COMPUTE] = "compute",
                                       [MTLM_LANE_TP] = "TP",
                                       [MTLM_LANE_PP] = "PP",
                                       [MTLM_LANE_DP] = "DP",
                                       [MTLM_LANE_DISK] = "disk"};

    return name[lane];
}

const char *mtlm_trace_phase_name(int phase)
{
    static const char *const name[] = {
        [MTLM_PHASE_FORWARD] = "F", [MTLM_PHASE_BACKWARD] = "B",
        [MTLM_PHASE_WEIGHT] = "W",  [MTLM_PHASE_OPTIMIZER] = "OPT",
        [MTLM_PHASE_INIT] = "INIT", [MTLM_PHASE_EVAL] = "EVAL",
        [MTLM_PHASE_SAVE] = "SAVE",
    };

    return name[phase];
}
