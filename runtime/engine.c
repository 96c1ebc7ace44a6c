#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arena.h"
#include "runtime/clock.h"
#include "runtime/data.h"
#include "runtime/engine_private.h"
#include "runtime/machine.h"
#include "runtime/memory.h"

/* Polling: after an event every MIN_NAP, then at an eighth of the time that
 * has passed since, at most every MAX_NAP; handing data over wakes the
 * thread at once.  So a message is seen within an eighth of the time it was
 * waited for, and a receive that is pending for long costs next to nothing. */
enum { MIN_NAP_NS = 20000, MAX_NAP_NS = 5000000, NAP_SHARE = 8 };

/* After this long without an event while messages are posted the thread says
 * what it waits for, and again each time that twice as long has passed. */
#define SILENCE_S 120.0

/* Ticket that tells the followers that there will be no more. */
#define LAST_TICKET (-1)

struct mtlm_engine {
    struct mtlm_engine_config config;
    pthread_t thread;
    clockid_t thread_clock;

    pthread_mutex_t mutex;   /* guards these: */
    pthread_cond_t wake;     /* of the thread */
    pthread_cond_t done;     /* of mtlm_engine_wait() */
    struct mtlm_queue inbox; /* requests whose data has been handed over */
    int64_t posted, finished;
    int64_t collectives; /* posted: the next seq */
    bool quit;
    struct mtlm_sequencer sequencer; /* .ready, .tickets: the thread's */

    /* The thread's own: */
    struct mtlm_queue flying;
    int collectives_flying;
    int64_t ticket_in;       /* buffer of the pending receive */
    MPI_Request ticket_recv; /* followers: MPI_REQUEST_NULL at the end */
    int64_t last_event_ns;
    int64_t silence_ns; /* after which the thread says something */
};

static MPI_Datatype datatype(enum mtlm_dtype dtype)
{
    switch (dtype) {
    case MTLM_REAL:
        return sizeof(mtlm_real) == 8 ? MPI_DOUBLE : MPI_FLOAT;
    case MTLM_F64:
        return MPI_DOUBLE;
    case MTLM_I32:
        break;
    }
    return MPI_INT32_T;
}

/* Called by StarPU: must not block. */
static void on_acquired(void *arg)
{
    struct mtlm_request *request = arg;
    struct mtlm_engine *engine = request->engine;

    pthread_mutex_lock(&engine->mutex);
    if (++request->acquired == request->message.n_handles) {
        request->message.record.ready_ns = mtlm_now_ns();
        mtlm_queue_push(&engine->inbox, request);
        pthread_cond_signal(&engine->wake);
    }
    pthread_mutex_unlock(&engine->mutex);
}

void mtlm_engine_post(struct mtlm_engine *engine,
                      const struct mtlm_message *message)
{
    static const enum starpu_data_access_mode mode[] = {[MTLM_SEND] = STARPU_R,
                                                        [MTLM_RECV] = STARPU_W,
                                                        [MTLM_ALL_REDUCE] =
                                                            STARPU_RW};
    const int n = message->n_handles;
    struct mtlm_request *request;

    if (n < 1 || message->count < 1 || message->count > INT_MAX)
        mtlm_fatal(__FILE__, __LINE__,
                   "a message of %" PRId64 " elements: MPI counts from 1 to %d",
                   message->count, INT_MAX);
    request = mtlm_calloc(1, sizeof(*request));
    request->message = *message;
    request->engine = engine;
    request->handle = mtlm_calloc(n, sizeof(*request->handle));
    memcpy(request->handle, message->handle, n * sizeof(*request->handle));
    request->message.handle = request->handle;
    request->message.record.submit_ns = mtlm_now_ns();
    pthread_mutex_lock(&engine->mutex);
    engine->posted++;
    if (message->kind == MTLM_ALL_REDUCE) {
        request->seq = engine->collectives++;
        mtlm_sequencer_post(&engine->sequencer, request->seq, message->group);
    }
    pthread_mutex_unlock(&engine->mutex);
    for (int i = 0; i < n; i++)
        MTLM_CHECK_STARPU(starpu_data_acquire_on_node_cb(
            request->handle[i], STARPU_MAIN_RAM, mode[message->kind],
            on_acquired, request));
}

/* Where the data of all handles begins.  They lie one after the other, with
 * no more than an arena's padding between them. */
static void *buffer_of(const struct mtlm_request *request)
{
    const struct mtlm_message *m = &request->message;
    char *first =
        starpu_data_handle_to_pointer(request->handle[0], STARPU_MAIN_RAM);
    char *end = first;

    for (int i = 0; i < m->n_handles; i++) {
        char *p =
            starpu_data_handle_to_pointer(request->handle[i], STARPU_MAIN_RAM);

        assert(p >= end && p < end + MTLM_ARENA_ALIGN);
        end = p + starpu_data_get_size(request->handle[i]);
    }
    assert((size_t) (end - first) == m->count * mtlm_dtype_bytes(m->dtype));
    return first;
}

static void issue(struct mtlm_engine *engine, struct mtlm_request *request)
{
    struct mtlm_ranks *ranks = engine->config.ranks;
    struct mtlm_message *m = &request->message;
    const MPI_Datatype type = datatype(m->dtype);

    m->record.start_ns = mtlm_now_ns();
    switch (m->kind) {
    case MTLM_SEND:
        MTLM_CHECK_MPI(MPI_Isend(request->buffer, (int) m->count, type, m->peer,
                                 m->tag, ranks->p2p, &request->mpi));
        break;
    case MTLM_RECV:
        MTLM_CHECK_MPI(MPI_Irecv(request->buffer, (int) m->count, type, m->peer,
                                 m->tag, ranks->p2p, &request->mpi));
        break;
    case MTLM_ALL_REDUCE:
        MTLM_CHECK_MPI(
            MPI_Iallreduce(MPI_IN_PLACE, request->buffer, (int) m->count, type,
                           m->reduce == MTLM_REDUCE_MAX ? MPI_MAX : MPI_SUM,
                           ranks->group[m->group], &request->mpi));
        engine->collectives_flying++;
        break;
    }
    mtlm_queue_push(&engine->flying, request);
}

/* Leader: tells the followers what it issues.  Eager: a few bytes, which
 * MPI buffers. */
static void send_ticket(const struct mtlm_engine *engine, int64_t ticket)
{
    const MPI_Comm comm = engine->config.ranks->tickets;
    int size = 1;

    if (comm != MPI_COMM_NULL)
        MPI_Comm_size(comm, &size);
    for (int peer = 1; peer < size; peer++)
        MTLM_CHECK_MPI(MPI_Send(&ticket, 1, MPI_INT64_T, peer, 0, comm));
}

static void expect_ticket(struct mtlm_engine *engine)
{
    MTLM_CHECK_MPI(MPI_Irecv(&engine->ticket_in, 1, MPI_INT64_T, 0, 0,
                             engine->config.ranks->tickets,
                             &engine->ticket_recv));
}

static bool take_tickets(struct mtlm_engine *engine)
{
    bool any = false;
    int done = 1;

    while (engine->ticket_recv != MPI_REQUEST_NULL) {
        MTLM_CHECK_MPI(
            MPI_Test(&engine->ticket_recv, &done, MPI_STATUS_IGNORE));
        if (!done)
            break;
        any = true;
        if (engine->ticket_in == LAST_TICKET)
            break;
        mtlm_numbers_push(&engine->sequencer.tickets, engine->ticket_in);
        expect_ticket(engine);
    }
    return any;
}

static bool issue_collectives(struct mtlm_engine *engine)
{
    struct mtlm_sequencer *sequencer = &engine->sequencer;
    bool any = false;

    while (!engine->config.max_in_flight
           || engine->collectives_flying < engine->config.max_in_flight) {
        struct mtlm_request *request;

        pthread_mutex_lock(&engine->mutex);
        request = mtlm_sequencer_next(sequencer);
        pthread_mutex_unlock(&engine->mutex);
        if (!request)
            break;
        if (sequencer->order == MTLM_ORDER_BY_LEADER && sequencer->leader)
            send_ticket(engine, request->seq);
        issue(engine, request);
        any = true;
    }
    return any;
}

static void complete(struct mtlm_engine *engine, struct mtlm_request *request)
{
    struct mtlm_message *m = &request->message;

    m->record.end_ns = mtlm_now_ns();
    if (m->recorded && engine->config.recorder)
        mtlm_recorder_add(engine->config.recorder, &m->record);
    if (m->kind == MTLM_ALL_REDUCE)
        engine->collectives_flying--;
    for (int i = 0; i < m->n_handles; i++)
        starpu_data_release_on_node(request->handle[i], STARPU_MAIN_RAM);
    pthread_mutex_lock(&engine->mutex);
    engine->finished++;
    if (engine->finished == engine->posted)
        pthread_cond_broadcast(&engine->done);
    pthread_mutex_unlock(&engine->mutex);
    free(request->handle);
    free(request);
}

static bool test_flying(struct mtlm_engine *engine)
{
    struct mtlm_request **at = &engine->flying.head;
    bool any = false;

    while (*at) {
        int done;

        MTLM_CHECK_MPI(MPI_Test(&(*at)->mpi, &done, MPI_STATUS_IGNORE));
        if (done) {
            complete(engine, mtlm_queue_take(&engine->flying, at));
            any = true;
        } else {
            at = &(*at)->next;
        }
    }
    return any;
}

/* Sleeps until data is handed over or, while something may arrive, for the
 * polling time. */
static void nap(struct mtlm_engine *engine, bool expecting)
{
    const int64_t now = mtlm_now_ns();
    int64_t wait = (now - engine->last_event_ns) / NAP_SHARE, until;

    wait = wait < MIN_NAP_NS ? MIN_NAP_NS : wait;
    until = now + (wait < MAX_NAP_NS ? wait : MAX_NAP_NS);
    pthread_mutex_lock(&engine->mutex);
    if (!expecting) {
        while (!engine->inbox.n && !engine->quit)
            pthread_cond_wait(&engine->wake, &engine->mutex);
    } else if (!engine->inbox.n) {
        const struct timespec t = {until / 1000000000, until % 1000000000};

        pthread_cond_clockwait(&engine->wake, &engine->mutex, CLOCK_MONOTONIC,
                               &t);
    }
    pthread_mutex_unlock(&engine->mutex);
}

/* Moves what StarPU handed over to where it is issued from. */
static bool empty_inbox(struct mtlm_engine *engine, bool *quit)
{
    struct mtlm_request *request;
    bool any;

    pthread_mutex_lock(&engine->mutex);
    request = engine->inbox.head;
    mtlm_queue_init(&engine->inbox);
    *quit = engine->quit;
    pthread_mutex_unlock(&engine->mutex);
    any = request != NULL;
    while (request) {
        struct mtlm_request *next = request->next;

        request->buffer = buffer_of(request);
        if (request->message.kind == MTLM_ALL_REDUCE)
            mtlm_queue_push(&engine->sequencer.ready, request);
        else
            issue(engine, request);
        request = next;
    }
    return any;
}

static int64_t silence_limit(const struct mtlm_engine *engine)
{
    const double s = engine->config.silence_s;

    return 1e9 * (s > 0 ? s : SILENCE_S);
}

/* A hang must not be silent.  Where workers are at it there is none, however
 * long a microbatch takes them. */
static void note_silence(struct mtlm_engine *engine, bool event)
{
    const int64_t now = mtlm_now_ns();
    char text[256];

    if (event) {
        engine->last_event_ns = now;
        engine->silence_ns = silence_limit(engine);
    } else if (now - engine->last_event_ns > engine->silence_ns) {
        if (mtlm_machine_busy()) {
            engine->last_event_ns = now;
            return;
        }
        engine->silence_ns *= 2;
        mtlm_engine_describe(engine, text, sizeof(text));
        fprintf(stderr, "mtlm-dag: rank %d: no message for %.0f s: %s\n",
                engine->config.ranks->rank,
                (now - engine->last_event_ns) * 1e-9, text);
    }
}

static void *run(void *arg)
{
    struct mtlm_engine *engine = arg;
    bool quit = false;

    note_silence(engine, true);
    for (;;) {
        bool event = empty_inbox(engine, &quit);
        const bool follower = engine->ticket_recv != MPI_REQUEST_NULL;

        if (follower)
            event |= take_tickets(engine);
        event |= issue_collectives(engine);
        event |= test_flying(engine);
        if (quit && !engine->flying.n && !engine->sequencer.ready.n) {
            if (engine->sequencer.leader
                && engine->sequencer.order == MTLM_ORDER_BY_LEADER)
                send_ticket(engine, LAST_TICKET);
            if (engine->ticket_recv == MPI_REQUEST_NULL)
                return NULL;
        }
        note_silence(engine, event);
        if (!event)
            nap(engine,
                engine->flying.n || engine->ticket_recv != MPI_REQUEST_NULL);
    }
}

struct mtlm_engine *mtlm_engine_start(const struct mtlm_engine_config *config)
{
    struct mtlm_engine *engine = mtlm_calloc(1, sizeof(*engine));

    engine->config = *config;
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->wake, NULL);
    pthread_cond_init(&engine->done, NULL);
    mtlm_queue_init(&engine->inbox);
    mtlm_queue_init(&engine->flying);
    mtlm_queue_init(&engine->sequencer.ready);
    engine->sequencer.order = config->order;
    engine->sequencer.leader =
        mtlm_ranks_group_rank(config->ranks, MTLM_GROUP_TP) == 0;
    engine->ticket_recv = MPI_REQUEST_NULL;
    if (!engine->sequencer.leader && config->order == MTLM_ORDER_BY_LEADER)
        expect_ticket(engine);
    if (pthread_create(&engine->thread, NULL, run, engine) != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start the communication thread");
    pthread_getcpuclockid(engine->thread, &engine->thread_clock);
    return engine;
}

void mtlm_engine_wait(struct mtlm_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    while (engine->finished < engine->posted)
        pthread_cond_wait(&engine->done, &engine->mutex);
    pthread_mutex_unlock(&engine->mutex);
}

void mtlm_engine_stop(struct mtlm_engine *engine)
{
    mtlm_engine_wait(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->quit = true;
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
    pthread_join(engine->thread, NULL);
    pthread_mutex_destroy(&engine->mutex);
    pthread_cond_destroy(&engine->wake);
    pthread_cond_destroy(&engine->done);
    free(engine->sequencer.cross.number);
    free(engine->sequencer.before.number);
    free(engine->sequencer.tickets.number);
    free(engine);
}

double mtlm_engine_cpu_seconds(const struct mtlm_engine *engine)
{
    struct timespec t = {0};

    clock_gettime(engine->thread_clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

void mtlm_engine_describe(struct mtlm_engine *engine, char *text, size_t n)
{
    pthread_mutex_lock(&engine->mutex);
    snprintf(text, n,
             "%" PRId64 " of %" PRId64 " messages done, %d being transferred "
             "(%d of them collectives), %d collectives ready but not their "
             "turn, waiting for number %" PRId64,
             engine->finished, engine->posted, engine->flying.n,
             engine->collectives_flying, engine->sequencer.ready.n,
             engine->sequencer.leader
                 ? mtlm_numbers_first(&engine->sequencer.cross)
                 : mtlm_numbers_first(&engine->sequencer.tickets));
    pthread_mutex_unlock(&engine->mutex);
}
