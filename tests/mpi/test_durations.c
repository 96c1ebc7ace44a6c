/* Modelled transfers take their time: collectives of a lane one after the
 * other, others at the same time where the transport lets them.  Tasks run
 * meanwhile. Control data holds a message back until earlier tasks are done
 * with it, and later ones until the message is. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/machine/data.h"
#include "support.h"

enum { N = 12, LANES = 2, DURATION_MS = 250, TASK_MS = 100 };

static const double duration_s = DURATION_MS * 1e-3, task_s = TASK_MS * 1e-3;
static double value[N], order;
static starpu_data_handle_t handle[N], control;

static double now_s(void)
{
    return mtlm_now_ns() * 1e-9;
}

/* --- a task that notes when it ran -------------------------------------- */

struct span {
    double begin, end;
};

static void work(void *buffers[], void *arg)
{
    struct span *span;

    (void) buffers;
    starpu_codelet_unpack_args(arg, &span);
    span->begin = now_s();
    usleep(TASK_MS * 1000);
    span->end = now_s();
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {work}, .nbuffers = 1, .modes = {STARPU_R}};

static void submit(starpu_data_handle_t read, struct span *span)
{
    MTLM_CHECK_STARPU(starpu_task_insert(&codelet, STARPU_R, read, STARPU_VALUE,
                                         &span, sizeof(span), 0));
}

static void post(enum mtlm_message_kind kind, int i, bool controlled)
{
    mtlm_message_post(
        engine,
        &(struct mtlm_message){
            .kind = kind,
            .handle = &handle[i],
            .n_handles = 1,
            .control = &(struct starpu_data_descr){control, STARPU_RW},
            .n_control = controlled,
            .count = 1,
            .duration_ns = (int64_t) (1e9 * duration_s),
            .dtype = MTLM_F64,
            .peer = !rank,
            .tag = i,
            .group = MTLM_GROUP_WORLD,
            .record = {.lane = i % LANES ? MTLM_LANE_TP : MTLM_LANE_DP}});
}

static void finish_all(void)
{
    MTLM_CHECK_STARPU(starpu_task_wait_for_all());
    mtlm_engine_wait(engine);
}

/* --- the tests ---------------------------------------------------------- */

/* What is sent is the time: the ranks read the same clock. */
static void test_sends_take_their_time_together(void)
{
    double first, last = 0;

    for (int i = 0; i < N; i++) {
        starpu_data_acquire(handle[i], STARPU_W);
        value[i] = now_s();
        starpu_data_release(handle[i]);
    }
    first = now_s();
    for (int i = 0; i < N; i++)
        post(rank == 0 ? MTLM_SEND : MTLM_RECV, i, false);
    for (int i = 0; i < N && rank == 1; i++) {
        settle(handle[i]);
        last = now_s();
        expect(last - value[i] >= duration_s, "message %d took %g s", i,
               last - value[i]);
    }
    expect(rank == 0 || last - first < (N - 1) * duration_s,
           "%d messages took %g s: one after the other", N, last - first);
    finish_all();
}

/* The collectives need no data of each other. */
static void test_collectives(int max_in_flight)
{
    const int least = max_in_flight == 1 ? N : N / LANES;
    struct span span = {0};
    double begin, took;

    mtlm_ranks_barrier(ranks);
    start_engine(MTLM_ORDER_BY_LEADER, max_in_flight, NULL);
    begin = now_s();
    for (int i = 0; i < N; i++)
        post(MTLM_ALL_REDUCE, i, false);
    submit(control, &span);
    finish_all();
    took = now_s() - begin;
    stop_engine();
    if (rank == 0)
        printf("%d collectives of %g s each took %g s, at most %d at a time\n",
               N, duration_s, took, max_in_flight);
    expect(took >= least * duration_s, "%d collectives took %g s", N, took);
    expect(max_in_flight == 1 || took < (N - 1) * duration_s,
           "%d collectives took %g s: one after the other", N, took);
    expect(span.end - begin < N * duration_s, "no task ran meanwhile");
}

static void test_control_orders_messages_and_tasks(void)
{
    struct span before = {0}, meanwhile = {0}, after = {0};

    submit(control, &before);
    post(rank == 0 ? MTLM_SEND : MTLM_RECV, 0, true);
    if (rank == 0)
        submit(handle[0], &meanwhile); /* a send only reads its data */
    submit(control, &after);
    finish_all();
    expect(before.end - before.begin >= task_s, "the first task took %g s",
           before.end - before.begin);
    if (rank == 1)
        expect(after.begin >= before.end, "a task overtook the message");
    else
        expect(after.begin - before.end >= duration_s,
               "a task ran %g s after the one before the message",
               after.begin - before.end);
    expect(rank == 1 || meanwhile.begin < after.begin,
           "a reader of what is sent waited for the message");
}

int main(int argc, char **argv)
{
    setup(&argc, &argv, 2, 2, 60);
    for (int i = 0; i < N; i++)
        handle[i] = mtlm_data_register(&value[i], 1, MTLM_F64, "value");
    control = mtlm_data_register(&order, 1, MTLM_F64, "control");
    start_engine(MTLM_ORDER_BY_LEADER, 0, NULL);
    test_sends_take_their_time_together();
    test_control_orders_messages_and_tasks();
    stop_engine();
    test_collectives(0);
    test_collectives(1);
    starpu_data_unregister(control);
    for (int i = 0; i < N; i++)
        starpu_data_unregister(handle[i]);
    return finish();
}
