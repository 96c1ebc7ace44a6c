/* Matches the ends of each message by key and measures its duration. */
#include "config.h"

#include <stdlib.h>

#include "codelets/op_list.h"
#include "launch/report/message_times.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* One end of a message.  All ends of a message have the same key. */
enum { KEYS = 8 };

struct end {
    int64_t key[KEYS];
    int64_t job, come_ns, end_ns;
    const struct mtlm_record *record;
};

static int by_key(const void *pa, const void *pb)
{
    const struct end *a = pa, *b = pb;

    for (int i = 0; i < KEYS; i++)
        if (a->key[i] != b->key[i])
            return mtlm_compare(a->key[i], b->key[i]);
    return 0;
}

static int by_job(const void *pa, const void *pb)
{
    const struct end *a = pa, *b = pb;

    if (a->record->rank != b->record->rank)
        return mtlm_compare(a->record->rank, b->record->rank);
    return mtlm_compare(a->job, b->job);
}

static int by_end(const void *pa, const void *pb)
{
    const struct end *a = pa, *b = pb;

    if (a->record->rank != b->record->rank)
        return mtlm_compare(a->record->rank, b->record->rank);
    return mtlm_compare(a->end_ns, b->end_ns);
}

static bool is_send_or_receive(const struct mtlm_record *r)
{
    return (r->op == MTLM_OP_SEND || r->op == MTLM_OP_RECV)
           && (r->phase == MTLM_PHASE_FORWARD
               || r->phase == MTLM_PHASE_BACKWARD);
}

/* Returns the boundary of a send or receive: stages k and k + 1 share boundary
 * k. */
static int64_t boundary(const struct mtlm_record *r)
{
    const bool upper =
        (r->op == MTLM_OP_RECV) == (r->phase == MTLM_PHASE_FORWARD);

    return upper ? r->stage - 1 : r->stage;
}

/* The last key number counts messages of parts of a sample. */
static struct end make_transfer(const struct mtlm_record *r)
{
    const bool send = r->op == MTLM_OP_SEND;

    return (struct end){.key = {r->phase, r->iteration, r->microbatch,
                                send ? r->rank : r->peer,
                                send ? r->peer : r->rank, boundary(r)},
                        .job = r->job,
                        .come_ns = r->ready_ns,
                        .end_ns = send ? 0 : r->end_ns,
                        .record = r};
}

static struct end make_collective(const struct mtlm_record *r,
                                  const struct mtlm_layout *layout, bool serial)
{
    return (struct end){.key = {r->phase, r->iteration, r->microbatch,
                                r->rank / layout->tp, r->stage, r->layer,
                                r->op},
                        .job = r->job,
                        .come_ns = serial ? r->start_ns : r->ready_ns,
                        .end_ns = r->end_ns,
                        .record = r};
}

/* Numbers the ends of one rank with otherwise equal keys by their order. */
static void number_alike(struct end *list, size_t n)
{
    size_t next;

    qsort(list, n, sizeof(*list), by_key);
    for (size_t i = 0; i < n; i = next) {
        int64_t last = 0;

        for (next = i + 1; next < n && by_key(&list[i], &list[next]) == 0;)
            next++;
        qsort(list + i, next - i, sizeof(*list), by_job);
        for (size_t k = i + 1; k < next; k++) {
            last =
                list[k].record->rank == list[k - 1].record->rank ? last + 1 : 0;
            list[k].key[KEYS - 1] = last;
        }
    }
    qsort(list, n, sizeof(*list), by_key);
}

/* Collectives of a lane take turns on a rank (MTLM_TURNS_LANE): each comes once
 * the one before has ended. */
static void take_turns(struct end *list, size_t n)
{
    qsort(list, n, sizeof(*list), by_end);
    for (size_t i = 1; i < n; i++)
        if (list[i].record->rank == list[i - 1].record->rank
            && list[i].come_ns < list[i - 1].end_ns)
            list[i].come_ns = list[i - 1].end_ns;
}

/* Calls took(arg, an end, seconds) for each message of the list. */
static void measure_messages(struct end *list, size_t n, int members,
                             void (*took)(void *arg,
                                          const struct mtlm_record *record,
                                          double seconds),
                             void *arg)
{
    size_t next;

    for (size_t i = 0; i < n; i = next) {
        int64_t come = list[i].come_ns, end = list[i].end_ns;

        for (next = i; next < n && by_key(&list[i], &list[next]) == 0; next++) {
            come = come > list[next].come_ns ? come : list[next].come_ns;
            end = end > list[next].end_ns ? end : list[next].end_ns;
        }
        if (next - i == (size_t) members)
            took(arg, list[i].record, 1e-9 * (end - come));
    }
}

struct sums {
    struct mtlm_message_times *times;
    double *count; /* [ranks * ranks] */
    double total, n;
};

static void took_hop(void *arg, const struct mtlm_record *r, double seconds)
{
    struct sums *s = arg;
    const bool send = r->op == MTLM_OP_SEND;
    const int from = send ? r->rank : r->peer, to = send ? r->peer : r->rank;

    s->times->hop_s[from * s->times->ranks + to] += seconds;
    s->count[from * s->times->ranks + to]++;
    s->total += seconds;
    s->n++;
}

/* Call when hop_s has the means. */
static void took_share(void *arg, const struct mtlm_record *r, double seconds)
{
    struct mtlm_message_times *times = arg;
    const bool send = r->op == MTLM_OP_SEND;
    const int from = send ? r->rank : r->peer, to = send ? r->peer : r->rank;
    const double mean = times->hop_s[from * times->ranks + to];

    times->share[times->shares++] = mean > 0 ? seconds / mean : 1;
}

static void took_collective(void *arg, const struct mtlm_record *r,
                            double seconds)
{
    struct sums *s = arg;

    (void) r;
    s->total += seconds;
    s->n++;
}

struct mtlm_message_times mtlm_message_times_create(
    const struct mtlm_record *records, size_t n,
    const struct mtlm_layout *layout, bool serial)
{
    const int ranks = mtlm_layout_ranks(layout);
    struct mtlm_message_times times = {.ranks = ranks};
    struct sums hops = {.times = &times}, tp = {.times = &times};
    struct end *list = mtlm_calloc(n, sizeof(*list));
    size_t found = 0;

    times.hop_s = mtlm_calloc((size_t) ranks * ranks, sizeof(*times.hop_s));
    hops.count = mtlm_calloc((size_t) ranks * ranks, sizeof(*hops.count));
    for (size_t i = 0; i < n; i++)
        if (is_send_or_receive(&records[i]))
            list[found++] = make_transfer(&records[i]);
    number_alike(list, found);
    measure_messages(list, found, 2, took_hop, &hops);
    for (int i = 0; i < ranks * ranks; i++)
        times.hop_s[i] =
            hops.count[i] > 0 ? times.hop_s[i] / hops.count[i] : -1;
    times.share = mtlm_calloc(hops.n, sizeof(*times.share));
    measure_messages(list, found, 2, took_share, &times);
    found = 0;
    for (size_t i = 0; i < n; i++)
        if (records[i].lane == MTLM_LANE_TP)
            list[found++] = make_collective(&records[i], layout, serial);
    take_turns(list, found);
    number_alike(list, found);
    measure_messages(list, found, layout->tp, took_collective, &tp);
    times.mean_hop_s = hops.n > 0 ? hops.total / hops.n : -1;
    times.tp_s = tp.n > 0 ? tp.total / tp.n : -1;
    free(hops.count);
    free(list);
    return times;
}

void mtlm_message_times_destroy(struct mtlm_message_times *times)
{
    free(times->share);
    free(times->hop_s);
}
