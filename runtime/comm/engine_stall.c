/* Reports stalls: the engine waits, and no worker computes.  While workers
 * compute there is no stall, however long a microbatch takes. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/engine_private.h"
#include "runtime/machine/machine.h"

/* Time without an event before the first report.  The time doubles with each
 * report. */
#define STALL_S 120.0

/* Interval of checks. */
enum { LOOK_NS = 100000000 };

static int64_t stall_limit_ns(const struct mtlm_engine *engine)
{
    const double s = engine->config.stall_s;

    return 1e9 * (s > 0 ? s : STALL_S);
}

/* Writes what the thread waits for.  Called by the thread. */
static void describe_wait(struct mtlm_engine *engine, char *text, size_t n)
{
    const struct mtlm_transfer *first = engine->flying.head;

    /* Prefer a collective: a receive may simply wait for its turn. */
    for (const struct mtlm_transfer *r = first; r; r = r->next)
        if (mtlm_message_is_collective(r->message.kind)) {
            first = r;
            break;
        }
    if (first)
        mtlm_transfer_describe(first, text, n);
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

/* The thread waits for nothing, or for its own workers. */
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
    mtlm_warn("rank %d: no message for %.0f s, waits for %s: %s",
              engine->config.ranks->rank, (now - engine->waiting_ns) * 1e-9,
              what, state);
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
    char awaited[48] = "";
    int64_t number;

    pthread_mutex_lock(&engine->mutex);
    number = mtlm_sequencer_awaited(&engine->sequencer);
    if (number >= 0)
        snprintf(awaited, sizeof(awaited), ", waiting for number %" PRId64,
                 number);
    snprintf(text, n,
             "%" PRId64 " of %" PRId64 " messages done, %d being transferred "
             "(%d of them collectives), %d collectives ready but not their "
             "turn%s",
             engine->finished, engine->posted, engine->flying.n,
             engine->collectives_flying, engine->sequencer.ready.n, awaited);
    pthread_mutex_unlock(&engine->mutex);
}
