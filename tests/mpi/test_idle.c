/* A receive that is pending for long costs next to nothing, and yet what
 * arrives is delivered at once. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/machine/data.h"
#include "support.h"
#include "tests/time_scale.h"

enum { SECONDS = 4, TIMES = 20, RECEIVER = 1 };

static double sent_s; /* by the sender's clock, which is also the receiver's */
static starpu_data_handle_t handle;

static double now_s(void)
{
    return mtlm_now_ns() * 1e-9;
}

/* Sends the time, or returns what the time was on its way. */
static double transfer(void)
{
    if (rank == RECEIVER) {
        post_number(MTLM_RECV, handle);
        settle(handle);
        return now_s() - sent_s;
    }
    starpu_data_acquire(handle, STARPU_W);
    sent_s = now_s();
    starpu_data_release(handle);
    post_number(MTLM_SEND, handle);
    mtlm_engine_wait(engine);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* After a pause, however short or long: the sender wakes the receiver, which
 * would look after 2 to 3 ms only.  Of the median: others may need the
 * machine. */
static void test_what_arrives_is_delivered_at_once(void)
{
    double late[TIMES];

    for (int i = 0; i < TIMES; i++) {
        if (rank != RECEIVER)
            usleep(rand() % 100000);
        late[i] = transfer();
    }
    if (rank != RECEIVER)
        return;
    qsort(late, TIMES, sizeof(late[0]), compare);
    printf("delivered after %.2f ms, %.2f ms at most\n", 1e3 * late[TIMES / 2],
           1e3 * late[TIMES - 1]);
    expect(late[TIMES / 2] < 0.001, "delivered after %g s", late[TIMES / 2]);
}

static void test_a_pending_receive_costs_next_to_nothing(void)
{
    double cpu, late;

    mtlm_ranks_barrier(ranks); /* before the engine is at it again */
    start_engine(MTLM_ORDER_BY_LEADER, 0, NULL);
    cpu = mtlm_engine_cpu_seconds(engine);
    if (rank != RECEIVER)
        sleep(SECONDS);
    late = transfer();
    cpu = mtlm_engine_cpu_seconds(engine) - cpu;
    printf("rank %d: %.2f %% of a core in %d s, then %.2f ms\n", rank,
           100 * cpu / SECONDS, SECONDS, 1e3 * late);
    expect(cpu / SECONDS < 0.01, "%g s of a core in %d s", cpu, SECONDS);
    expect(late < 0.05 * time_scale(), "delivered after %g s", late);
    stop_engine();
}

int main(int argc, char **argv)
{
    setup(&argc, &argv, 2, 1, 60);
    handle = mtlm_data_register(&sent_s, 1, MTLM_F64, "time");
    start_engine(MTLM_ORDER_BY_LEADER, 0, NULL);
    test_what_arrives_is_delivered_at_once();
    stop_engine();
    test_a_pending_receive_costs_next_to_nothing();
    starpu_data_unregister(handle);
    return finish();
}
