/* A hang must not be silent.  Where workers are at it there is none, however
 * long a microbatch takes them. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/comm/engine_private.h"
#include "runtime/comm/activity.h"
#include "runtime/machine/machine.h"

/* After this long without an event while messages are posted the thread says
 * what it waits for, and again each time that twice as long has passed. */
#define STALL_S 120.0

/* How often it looks what it waits for. */
enum { LOOK_NS = 100000000 };

static int64_t stall_limit_ns(const struct mtlm_engine *engine)
{
    const double s = engine->config.stall_s;

    return 1e9 * (s > 0 ? s : STALL_S);
}

void mtlm_engine_describe_request(const struct mtlm_request *request,
                                  char *text, size_t n)
{
    static const char *const group[] = {
        [MTLM_GROUP_TP] = "tensor-parallel ranks",
        [MTLM_GROUP_DP] = "data-parallel ranks",
        [MTLM_GROUP_EMBEDDING] = "ranks with the embedding",
        [MTLM_GROUP_WORLD] = "all ranks"};
    static const char *const kind[] = {
        [MTLM_SEND] = "send",
        [MTLM_RECV] = "receive",
        [MTLM_ALL_REDUCE] = "all-reduce",
        [MTLM_REDUCE_SCATTER] = "reduce-scatter",
        [MTLM_ALL_GATHER] = "all-gather",
    };
    const struct mtlm_message *m = &request->message;
    char with[64], number[40] = "";

    if (mtlm_message_is_collective(m->kind))
        snprintf(with, sizeof(with), "of %s", group[m->group]);
    else
        snprintf(with, sizeof(with), "%s rank %d",
                 m->kind == MTLM_SEND ? "to" : "from", m->peer);
    if (m->record.microbatch >= 0)
        snprintf(number, sizeof(number), ", microbatch %d",
                 m->record.microbatch);
    snprintf(text, n, "the %s %s in iteration %d, stage %d%s", kind[m->kind],
             with, m->record.iteration + 1, m->record.stage, number);
}

/* What the thread waits for; called by it. */
static void describe_wait(struct mtlm_engine *engine, char *text, size_t n)
{
    const struct mtlm_request *first = engine->flying.head;

    /* A collective tells more than a receive that waits for its turn. */
    for (const struct mtlm_request *r = first; r; r = r->next)
        if (mtlm_message_is_collective(r->message.kind)) {
            first = r;
            break;
        }
    if (first)
        mtlm_engine_describe_request(first, text, n);
    else if (mtlm_tickets_expected(&engine->tickets))
        snprintf(text, n, "the order of its tensor-parallel leader");
    else
        snprintf(text, n, "data of its own tasks");
}

static bool is_waiting(struct mtlm_engine *engine)
{
    bool waiting;

    pthread_mutex_lock(&engine->mutex);
    waiting = engine->posted > engine->finished || engine->quit;
    pthread_mutex_unlock(&engine->mutex);
    return waiting;
}

/* It waits for nothing, or for its own workers. */
static void reset_stall(struct mtlm_engine *engine, int64_t now)
{
    if (engine->waits)
        mtlm_activity_wait_end(MTLM_WAITER_ENGINE);
    engine->waits = false;
    engine->waiting_ns = engine->noted_ns = now;
    engine->stall_ns = stall_limit_ns(engine);
}

static void print_stall(struct mtlm_engine *engine, int64_t now,
                        const char *what)
{
    char state[256];

    engine->stall_ns *= 2;
    mtlm_engine_describe(engine, state, sizeof(state));
    fprintf(stderr,
            "mtlm-dag: rank %d: no message for %.0f s, waits for %s: %s\n",
            engine->config.ranks->rank, (now - engine->waiting_ns) * 1e-9, what,
            state);
}

void mtlm_engine_stall_note(struct mtlm_engine *engine, bool event)
{
    const int64_t now = mtlm_now_ns();
    const int64_t since = now - engine->noted_ns;
    char text[200];

    if (event || engine->delayed.n)
        mtlm_activity_progress();
    if (event || engine->delayed.n || !is_waiting(engine)) {
        reset_stall(engine, now);
        return;
    }
    if (since > MTLM_IDLE_NAP_NS + MTLM_ASLEEP_NS)
        engine->waiting_ns += since;
    engine->noted_ns = now;
    if (now - engine->looked_ns < LOOK_NS)
        return;
    engine->looked_ns = now;
    if (mtlm_machine_busy()) {
        reset_stall(engine, now);
        return;
    }
    describe_wait(engine, text, sizeof(text));
    mtlm_activity_wait_begin(MTLM_WAITER_ENGINE, text);
    engine->waits = true;
    if (now - engine->waiting_ns > engine->stall_ns)
        print_stall(engine, now, text);
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
