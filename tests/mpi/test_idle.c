/* A receive that is pending for long costs next to nothing, and yet what
 * arrives is delivered at once.
 *
 * The test counts and lengthens the naps of the communication thread: seconds
 * that the machine takes tell little where others need it. */

#include "config.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/compare.h"
#include "runtime/machine/data.h"
#include "support.h"
#include "tests/wrap_syscall.h"

enum { SECONDS = 4, TIMES = 20, RECEIVER = 1 };

/* Of a long wait: the thread sleeps 5 ms at a time.  A tenth of a core is
 * twenty times what its looks take. */
enum { MOST_NAPS = SECONDS * 1000 / 5 + 100 };
#define MOST_SHARE 0.1

/* A nap of a thread that has waited for long ends so much later. */
enum { NAP_NS = 500000, LATER_NS = 600000000 };
#define LATE_S 0.1

static _Atomic int naps;
static _Atomic bool long_naps;

/* A nap is a wait on a futex until a time. */
static void change_syscall(long number, long a[6])
{
    static _Thread_local struct timespec until; /* read after the return */

    if (number == SYS_futex && a[1] == FUTEX_WAIT_BITSET) {
        const struct timespec *asked = (const struct timespec *) a[3];
        const int64_t end =
            asked->tv_sec * INT64_C(1000000000) + asked->tv_nsec;
        const bool longer = long_naps && end - mtlm_now_ns() > NAP_NS;
        const int64_t later = end + (longer ? LATER_NS : 0);

        until = (struct timespec){later / 1000000000, later % 1000000000};
        a[3] = (long) &until;
        naps++;
    }
}

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

/* After a pause, however short or long: the sender wakes the receiver, which
 * would look after half a long nap only.  Of the median: others may need the
 * machine. */
static void test_what_arrives_is_delivered_at_once(void)
{
    double late[TIMES];

    long_naps = true;
    for (int i = 0; i < TIMES; i++) {
        if (rank != RECEIVER)
            usleep(rand() % 100000);
        late[i] = transfer();
    }
    long_naps = false;
    if (rank != RECEIVER)
        return;
    qsort(late, TIMES, sizeof(late[0]), mtlm_compare_double);
    printf("delivered after %.2f ms, %.2f ms at most\n", 1e3 * late[TIMES / 2],
           1e3 * late[TIMES - 1]);
    expect(late[TIMES / 2] < LATE_S, "delivered after %g s", late[TIMES / 2]);
}

/* Ranks of a host wake each other.  Once that has gone well for some messages,
 * a thread that waits for 0.1 s sleeps as long as it has waited: 29 naps.  Of
 * an eighth each they would be 67. */
static void test_a_wait_for_a_ring_takes_few_looks(void)
{
    enum { FIRST = 40, ROUNDS = 5, MOST = 45 };
    int least = INT_MAX;

    for (int i = 0; i < FIRST; i++)
        transfer();
    for (int i = 0; i < ROUNDS; i++) {
        const int before = naps;

        if (rank != RECEIVER)
            usleep(100000);
        transfer();
        least = naps - before < least ? naps - before : least;
    }
    printf("rank %d: %d naps in 0.1 s\n", rank, least);
    if (rank == RECEIVER)
        expect(least < MOST, "%d naps in 0.1 s", least);
}

static void test_a_pending_receive_costs_next_to_nothing(void)
{
    double cpu;
    int n;

    mtlm_ranks_barrier(ranks); /* before the engine is at it again */
    start_engine(MTLM_ORDER_BY_LEADER, 0, NULL);
    n = naps;
    cpu = mtlm_engine_cpu_seconds(engine);
    if (rank != RECEIVER)
        sleep(SECONDS);
    transfer();
    cpu = mtlm_engine_cpu_seconds(engine) - cpu;
    n = naps - n;
    printf("rank %d: %.2f %% of a core in %d s, %d naps\n", rank,
           100 * cpu / SECONDS, SECONDS, n);
    expect(cpu / SECONDS < MOST_SHARE, "%g s of a core in %d s", cpu, SECONDS);
    expect(n < MOST_NAPS, "%d naps in %d s", n, SECONDS);
    stop_engine();
}

int main(int argc, char **argv)
{
    setup(&argc, &argv, 2, 1, 60);
    handle = mtlm_data_register(&sent_s, 1, MTLM_F64, "time");
    start_engine(MTLM_ORDER_BY_LEADER, 0, NULL);
    test_what_arrives_is_delivered_at_once();
    test_a_wait_for_a_ring_takes_few_looks();
    stop_engine();
    test_a_pending_receive_costs_next_to_nothing();
    starpu_data_unregister(handle);
    return finish();
}
