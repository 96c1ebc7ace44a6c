/* The communication thread, which issues posted messages and polls for their
 * end; start, plan, wait and stop of the engine. */

#include "config.h"

#include <stdlib.h>
#include <sys/prctl.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/engine_private.h"
#include "runtime/comm/message_task.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/comm/transport.h"

/* Polling.  The thread sleeps MIN_NAP after an event, later an eighth of the
 * time since the event, at most MAX_NAP.  Data from StarPU and messages from
 * ranks of the same host wake the thread at once.  So any other message is seen
 * within an eighth of the time it was waited for, and a long wait costs almost
 * nothing.  Where only messages that wake the thread are in flight, it sleeps
 * as long as it has waited, which halves what it takes of a core.  A device
 * wakes nobody, and layers wait for its collectives: while some are in flight,
 * the thread sleeps at most MAX_DEVICE_NAP.  With nothing to poll for, the
 * thread wakes every MTLM_IDLE_NAP_NS. */
enum {
    MIN_NAP_NS = 20000,
    MAX_NAP_NS = 5000000,
    MAX_DEVICE_NAP_NS = 50000,
    NAP_SHARE = 8,
    RUNG_NAP_SHARE = 1
};

/* MPI may need more than one poll for a message that was announced.  Where an
 * event came after more than FEW_LOOKS, without a ring, the ranks' rings are
 * not trusted until TRUST_AFTER events came with a ring: MPI moves messages
 * piece by piece. */
enum { FEW_LOOKS = 3, TRUST_AFTER = 32 };

/* Notes the start of a message; a modelled transfer is part of the message. */
static void note_start(struct mtlm_transfer *transfer)
{
    struct mtlm_message *m = &transfer->message;

    if (m->record.start_ns != 0)
        return;
    m->record.start_ns = mtlm_now_ns();
    if (m->node)
        mtlm_policy_nodes_started(m->node);
}

static void issue_transfer(struct mtlm_engine *engine,
                           struct mtlm_transfer *transfer)
{
    note_start(transfer);
    transfer->transport->issue(transfer->transport, transfer);
    if (mtlm_message_is_collective(transfer->message.kind))
        engine->collectives_flying++;
    mtlm_queue_push(&engine->flying, transfer);
}

/* Keeps a transfer until its modelled duration has passed. */
static void delay_transfer(struct mtlm_engine *engine,
                           struct mtlm_transfer *transfer, int64_t since_ns)
{
    transfer->due_ns = since_ns + transfer->message.duration_ns;
    mtlm_queue_push(&engine->delayed, transfer);
}

/* Whether one more collective may be issued now. */
static bool may_issue(const struct mtlm_engine *engine)
{
    struct mtlm_transport *transport = engine->collective;
    const int most = engine->config.max_in_flight;

    return (!most || engine->collectives_flying < most)
           && (!transport->ready || transport->ready(transport));
}

static bool issue_collectives(struct mtlm_engine *engine)
{
    struct mtlm_sequencer *sequencer = &engine->sequencer;
    bool any = false;

    while (may_issue(engine)) {
        struct mtlm_transfer *transfer;

        pthread_mutex_lock(&engine->mutex);
        transfer = mtlm_sequencer_next(sequencer);
        pthread_mutex_unlock(&engine->mutex);
        if (!transfer)
            break;
        if (sequencer->order == MTLM_ORDER_BY_LEADER && sequencer->leader)
            mtlm_tickets_send(&engine->tickets, transfer->seq);
        issue_transfer(engine, transfer);
        any = true;
    }
    return any;
}

static void complete_transfer(struct mtlm_engine *engine,
                              struct mtlm_transfer *transfer)
{
    struct mtlm_message *m = &transfer->message;

    m->record.end_ns = mtlm_now_ns();
    mtlm_arrivals_end(engine->arrivals, m);
    if (m->node)
        mtlm_policy_nodes_ended(m->node);
    if (m->recorded && engine->config.recorder)
        mtlm_recorder_add(engine->config.recorder, &m->record);
    if (mtlm_message_is_collective(m->kind))
        engine->collectives_flying--;
    if (transfer->task)
        mtlm_message_task_end(transfer);
    else
        mtlm_engine_hand_back(transfer);
    pthread_mutex_lock(&engine->mutex);
    engine->finished++;
    if (engine->finished == engine->posted)
        pthread_cond_broadcast(&engine->done);
    pthread_mutex_unlock(&engine->mutex);
    free(transfer->held);
    free(transfer->control);
    free(transfer);
}

/* Starts a modelled collective once those of its lane have ended on this rank,
 * like the calls of an NCCL communicator.  Turns are in the order in which
 * polls see the collectives end, not in the order of issue. */
static void take_turn(struct mtlm_engine *engine,
                      struct mtlm_transfer *transfer)
{
    struct mtlm_record *record = &transfer->message.record;
    int64_t *free_ns = &engine->lane_free_ns[record->lane];
    const int64_t now = mtlm_now_ns();

    if (*free_ns > now)
        record->start_ns = *free_ns;
    delay_transfer(engine, transfer, *free_ns > now ? *free_ns : now);
    *free_ns = transfer->due_ns;
}

/* The transport is done with a transfer. */
static void transferred(struct mtlm_engine *engine,
                        struct mtlm_transfer *transfer)
{
    const struct mtlm_message *m = &transfer->message;

    if (m->duration_ns > 0 && mtlm_message_is_collective(m->kind))
        take_turn(engine, transfer);
    else
        complete_transfer(engine, transfer);
}

static bool test_flying(struct mtlm_engine *engine)
{
    struct mtlm_transfer **at = &engine->flying.head;
    bool any = false;

    while (*at) {
        struct mtlm_transport *transport = (*at)->transport;
        const int pieces = (*at)->pieces;

        if (transport->test(transport, *at)) {
            transferred(engine, mtlm_queue_take(&engine->flying, at));
            any = true;
        } else {
            any |= (*at)->pieces != pieces;
            at = &(*at)->next;
        }
    }
    return any;
}

static bool end_delays(struct mtlm_engine *engine)
{
    struct mtlm_transfer **at = &engine->delayed.head;
    const int64_t now = mtlm_now_ns();
    bool any = false;

    while (*at) {
        struct mtlm_transfer *transfer = *at;

        if (transfer->due_ns > now) {
            at = &transfer->next;
            continue;
        }
        mtlm_queue_take(&engine->delayed, at);
        if (transfer->message.kind == MTLM_SEND)
            issue_transfer(engine, transfer);
        else
            complete_transfer(engine, transfer);
        any = true;
    }
    return any;
}

static bool device_flies(const struct mtlm_engine *engine)
{
    for (const struct mtlm_transfer *r = engine->flying.head; r; r = r->next)
        if (r->transport->node != STARPU_MAIN_RAM)
            return true;
    return false;
}

/* Whether ranks wake this one for all that is in flight: the ranks of the host
 * are all, and no step of an MPI collective goes unannounced. */
static bool is_rung(const struct mtlm_engine *engine)
{
    const struct mtlm_ranks *ranks = engine->config.ranks;

    if (engine->doubt > 0)
        return false;
    for (const struct mtlm_transfer *r = engine->flying.head; r; r = r->next)
        if (!r->rung)
            return false;
    return mtlm_doorbell_reaches(ranks->bell, ranks->size);
}

/* Notes a look of the thread; rung: the bell rang before. */
static void note_look(struct mtlm_engine *engine, bool event, bool rung)
{
    if (event && !rung && engine->looks > FEW_LOOKS)
        engine->doubt = TRUST_AFTER;
    else if (event && rung && engine->doubt > 0)
        engine->doubt--;
    engine->looks = event || rung ? 0 : engine->looks + 1;
}

/* Sleeps until the bell rings, at most for the polling interval; expecting: a
 * message may arrive. */
static void sleep_until_rung(struct mtlm_engine *engine, uint32_t rings,
                             bool expecting)
{
    const int64_t now = mtlm_now_ns();
    const int64_t most = device_flies(engine) ? MAX_DEVICE_NAP_NS : MAX_NAP_NS;
    int64_t wait = (now - engine->last_event_ns)
                   / (is_rung(engine) ? RUNG_NAP_SHARE : NAP_SHARE),
            until;

    wait = wait < MIN_NAP_NS ? MIN_NAP_NS : wait;
    until = now + (wait < most ? wait : most);
    for (struct mtlm_transfer *r = engine->delayed.head; r; r = r->next)
        until = r->due_ns < until ? r->due_ns : until;
    if (!expecting)
        until = now + MTLM_IDLE_NAP_NS;
    mtlm_doorbell_wait(engine->config.ranks->bell, rings, until);
}

/* Issues the transfers that StarPU handed over, or makes them ready. */
static bool empty_inbox(struct mtlm_engine *engine, bool *quit)
{
    struct mtlm_transfer *transfer;
    bool any;

    pthread_mutex_lock(&engine->mutex);
    transfer = engine->inbox.head;
    mtlm_queue_init(&engine->inbox);
    *quit = engine->quit;
    pthread_mutex_unlock(&engine->mutex);
    any = transfer != NULL;
    while (transfer) {
        struct mtlm_transfer *next = transfer->next;

        mtlm_transport_find_buffers(transfer);
        if (mtlm_message_is_collective(transfer->message.kind)) {
            mtlm_queue_push(&engine->sequencer.ready, transfer);
        } else if (transfer->message.kind == MTLM_SEND
                   && transfer->message.duration_ns > 0) {
            note_start(transfer);
            delay_transfer(engine, transfer, transfer->message.record.ready_ns);
        } else {
            issue_transfer(engine, transfer);
        }
        transfer = next;
    }
    return any;
}

static void *run_thread(void *arg)
{
    struct mtlm_engine *engine = arg;
    bool quit = false;
    uint32_t seen = 0;

    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* otherwise sleeps end 50 us late */
    engine->last_event_ns = mtlm_now_ns();
    engine->doubt = TRUST_AFTER;
    mtlm_engine_stall_note(engine, true);
    for (;;) {
        const uint32_t rings = mtlm_doorbell_rings(engine->config.ranks->bell);
        bool event, rung;

        mtlm_mpi_turn_take();
        event = empty_inbox(engine, &quit);
        event |=
            mtlm_tickets_take(&engine->tickets, &engine->sequencer.tickets);
        event |= mtlm_arrivals_exchange(engine->arrivals);
        event |= end_delays(engine);
        event |= issue_collectives(engine);
        rung = mtlm_doorbell_rings(engine->config.ranks->bell) != seen;
        event |= test_flying(engine);
        if (quit && !engine->flying.n && !engine->delayed.n
            && !engine->sequencer.ready.n) {
            if (engine->sequencer.leader
                && engine->sequencer.order == MTLM_ORDER_BY_LEADER)
                mtlm_tickets_send(&engine->tickets, MTLM_LAST_TICKET);
            if (!mtlm_tickets_expected(&engine->tickets))
                break;
        }
        mtlm_mpi_turn_end();
        mtlm_engine_stall_note(engine, event);
        note_look(engine, event, rung);
        if (event || rings != seen)
            engine->last_event_ns = mtlm_now_ns();
        seen = rings;
        if (!event)
            sleep_until_rung(engine, rings,
                             quit || engine->flying.n || engine->delayed.n
                                 || mtlm_tickets_expected(&engine->tickets));
    }
    mtlm_mpi_turn_end();
    mtlm_activity_wait_end(MTLM_WAITER_ENGINE);
    return NULL;
}

static struct mtlm_transport *start_nccl(const struct mtlm_ranks *ranks)
{
#if HAVE_NCCL
    return mtlm_transport_nccl(ranks);
#else
    (void) ranks;
    mtlm_fatal(__FILE__, __LINE__, "this program is built without NCCL");
#endif
}

struct mtlm_engine *mtlm_engine_start(const struct mtlm_engine_config *config)
{
    const bool leader =
        mtlm_ranks_group_rank(config->ranks, MTLM_GROUP_TP) == 0;
    struct mtlm_engine *engine = mtlm_calloc(1, sizeof(*engine));

    engine->config = *config;
    engine->p2p = mtlm_transport_mpi(config->ranks);
    engine->collective = engine->p2p;
    if (config->transport == MTLM_TRANSPORT_NCCL)
        engine->collective = start_nccl(config->ranks);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->done, NULL);
    mtlm_queue_init(&engine->inbox);
    mtlm_queue_init(&engine->flying);
    mtlm_queue_init(&engine->delayed);
    mtlm_sequencer_create(&engine->sequencer, config->order, leader);
    mtlm_tickets_start(&engine->tickets, config->ranks,
                       config->order == MTLM_ORDER_BY_LEADER && !leader);
    engine->arrivals = mtlm_arrivals_start(config->ranks);
    if (config->tasks)
        mtlm_policy_nodes_find_message(mtlm_message_task_node);
    if (pthread_create(&engine->thread, NULL, run_thread, engine) != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start the communication thread");
    pthread_getcpuclockid(engine->thread, &engine->thread_clock);
    return engine;
}

void mtlm_engine_order(struct mtlm_engine *engine, const int *order, int n)
{
    pthread_mutex_lock(&engine->mutex);
    mtlm_sequencer_plan(&engine->sequencer, engine->collectives, order, n);
    pthread_mutex_unlock(&engine->mutex);
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
    mtlm_doorbell_ring(engine->config.ranks->bell);
    pthread_mutex_unlock(&engine->mutex);
    pthread_join(engine->thread, NULL);
    mtlm_arrivals_stop(engine->arrivals);
    pthread_mutex_destroy(&engine->mutex);
    pthread_cond_destroy(&engine->done);
    mtlm_sequencer_destroy(&engine->sequencer);
    if (engine->collective != engine->p2p)
        engine->collective->destroy(engine->collective);
    engine->p2p->destroy(engine->p2p);
    free(engine);
}

unsigned mtlm_engine_node(const struct mtlm_engine *engine)
{
    return engine->collective->node;
}

double mtlm_engine_cpu_seconds(const struct mtlm_engine *engine)
{
    struct timespec t = {0};

    clock_gettime(engine->thread_clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
