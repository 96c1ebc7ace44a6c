/* Workers without a task sleep, and wake for a task, under every policy.  A
 * policy may have them look sooner.
 *
 * The test reads and changes the lengths of naps: seconds that the machine
 * takes tell little where others need it. */

#include "config.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <starpu.h>

#include <mtlm/policy.h>

#include "runtime/base/clock.h"
#include "runtime/base/compare.h"
#include "runtime/machine/machine.h"
#include "runtime/policies/builtin.h"
#include "tests/runtime/child.h"
#include "tests/wrap_syscall.h"

/* The longest nap of a worker. */
enum { NAP_NS = 1000000 };

/* A nap in its place, which nobody takes for the time to wake a thread. */
enum { LONG_NAP_NS = 400000000 };

/* Most seconds from the submission of a task to its start: without a wake-up
 * the worker sleeps half a long nap on average. */
#define LATE_S 0.1

/* Of a core that a worker takes.  One that never sleeps takes the whole. */
#define MOST_SHARE 0.25

/* Naps of a second that a policy ends sooner: there are thousands. */
enum { FEW = 100 };

/* A policy that wants to be asked this soon. */
enum { SOON_NS = 100000 };

enum { WORKERS = 2, TASKS = 9, ANY = -1 };

/* ---- naps ---- */

static _Atomic int64_t shortest_ns, shortened;
static _Atomic bool long_naps;

static void note_nap(int64_t length_ns)
{
    int64_t least = shortest_ns;

    while (length_ns < least
           && !atomic_compare_exchange_weak(&shortest_ns, &least, length_ns))
        ;
    shortened += length_ns <= SOON_NS;
}

/* A nap is a wait on a futex. */
static void change_syscall(long number, long a[6])
{
    static const struct timespec long_nap = {0, LONG_NAP_NS};

    if (number == SYS_futex && a[1] == FUTEX_WAIT_PRIVATE) {
        note_nap(((const struct timespec *) a[3])->tv_nsec);
        if (long_naps)
            a[3] = (long) &long_nap;
    }
}

/* ---- how late a task starts ---- */

static int64_t started_ns;

static void note_start(void **buffers, void *arg)
{
    (void) buffers;
    (void) arg;
    started_ns = mtlm_now_ns();
}

static struct starpu_codelet codelet = {.cpu_funcs = {note_start}};

/* Returns seconds from the submission of a task to its start. */
static double run_task(int worker)
{
    struct starpu_task *task = starpu_task_create();
    const int64_t submitted_ns = mtlm_now_ns();

    task->cl = &codelet;
    mtlm_machine_restrict(task, worker);
    assert_int_equal(starpu_task_submit(task), 0);
    assert_int_equal(starpu_task_wait_for_all(), 0);
    return (started_ns - submitted_ns) * 1e-9;
}

/* Returns the median of seconds that a task waits while workers sleep long. */
static double median_wait(int worker)
{
    double s[TASKS];

    long_naps = true;
    for (int i = 0; i < TASKS; i++) {
        usleep(20000); /* workers poll for a millisecond before they sleep */
        s[i] = run_task(worker);
    }
    long_naps = false;
    qsort(s, TASKS, sizeof(s[0]), mtlm_compare_double);
    return s[TASKS / 2];
}

/* ---- what an idle worker takes ---- */

static _Atomic int looks;

/* StarPU calls this function after each look in vain. */
static unsigned count_look(void *unused)
{
    (void) unused;
    looks++;
    return 1;
}

static unsigned count_and_ask_again(void *unused)
{
    mtlm_policy_ask_again(starpu_worker_get_id_check(),
                          mtlm_now_ns() + SOON_NS);
    return count_look(unused);
}

struct cost {
    double share;        /* of a core that a worker takes */
    double looks;        /* for a task, of a worker in a second */
    int64_t shortest_ns; /* nap */
    int64_t shortened;   /* naps of SOON_NS at most */
};

static double clock_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Watches the workers for a second. */
static struct cost idle_cost(unsigned (*look)(void *))
{
    const int hook = starpu_idle_hook_register(look, NULL);
    double cpu, wall;
    int n;

    usleep(100000); /* until the workers sleep as long as they may */
    n = looks;
    shortest_ns = INT64_MAX;
    shortened = 0;
    wall = clock_s(CLOCK_MONOTONIC);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    sleep(1);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = clock_s(CLOCK_MONOTONIC) - wall;
    n = looks - n;
    starpu_idle_hook_deregister(hook);
    return (struct cost){cpu / wall / WORKERS, n / wall / WORKERS, shortest_ns,
                         shortened};
}

static int start_machine(void)
{
    const struct mtlm_machine_config config = {.workers = WORKERS,
                                               .gpu = -1,
                                               .shared = true,
                                               .policies =
                                                   mtlm_policies_builtin()};
    struct mtlm_error err;

    if (mtlm_machine_start(&config, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return -1;
}

/* Of a process of its own: STARPU_SCHED counts for a process. */
static int use_policy(const void *name)
{
    struct cost cost;
    double any, bound;

    setenv("STARPU_SCHED", name, 1);
    if (start_machine() < 0)
        return EXIT_FAILURE;
    run_task(ANY);
    cost = idle_cost(count_look);
    any = median_wait(ANY);
    bound = median_wait(WORKERS - 1);
    mtlm_machine_stop();
    fprintf(stderr,
            "%s: %.2f %% of a core, %.0f looks a second, naps of %.3f ms; "
            "a task waits %.3f ms, for one worker %.3f ms\n",
            (const char *) name, 100 * cost.share, cost.looks,
            1e-6 * cost.shortest_ns, 1e3 * any, 1e3 * bound);
    return cost.share < MOST_SHARE && cost.looks <= 1e9 / NAP_NS
                   && cost.shortest_ns == NAP_NS && any < LATE_S
                   && bound < LATE_S
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

static void test_idle_workers_sleep(void **state)
{
    static const char *const policies[] = {
        "prio", "mtlm", "eager", "lws", "dmda", "random", "modular-eager"};

    char text[256];

    (void) state;
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        const int status = child_status(use_policy, policies[i], text);

        print_message("%s", text);
        assert_int_equal(status, 0);
    }
}

static int ask_again(const void *unused)
{
    struct cost cost;

    (void) unused;
    if (start_machine() < 0)
        return EXIT_FAILURE;
    cost = idle_cost(count_and_ask_again);
    mtlm_machine_stop();
    fprintf(stderr, "%d naps end sooner\n", (int) cost.shortened);
    return cost.shortened > FEW ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void test_a_policy_is_asked_again(void **state)
{
    char text[256];
    const int status = child_status(ask_again, NULL, text);

    (void) state;
    print_message("%s", text);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_workers_sleep),
        cmocka_unit_test(test_a_policy_is_asked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
