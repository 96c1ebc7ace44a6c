/* Workers without a task cost next to nothing, under every policy, and start a
 * task at once.  A policy may have them look sooner. */

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <starpu.h>

#include <mtlm/policy.h>

#include "runtime/base/clock.h"
#include "runtime/machine/machine.h"
#include "runtime/policies/builtin.h"
#include "tests/runtime/child.h"

/* Most seconds that a worker needs more than a plain thread to be woken.
 * Without a wake-up it would be half of a nap, which is a millisecond. */
#define LATE_S 0.00025

enum { WORKERS = 2, TIMES = 30, ROUNDS = 8, ANY = -1 };

/* Looks of a worker in a second: a nap takes a millisecond. */
enum { MOST_LOOKS = 1000 };

/* A policy that wants to be asked this soon. */
enum { SOON_NS = 100000 };

static int64_t started_ns;

static void note_start(void **buffers, void *arg)
{
    (void) buffers;
    (void) arg;
    started_ns = mtlm_now_ns();
}

static struct starpu_codelet codelet = {.cpu_funcs = {note_start}};

/* Returns seconds from the submission of a task to its start. */
static double late_task(int worker)
{
    struct starpu_task *task = starpu_task_create();
    const int64_t submitted_ns = mtlm_now_ns();

    task->cl = &codelet;
    mtlm_machine_restrict(task, worker);
    assert_int_equal(starpu_task_submit(task), 0);
    assert_int_equal(starpu_task_wait_for_all(), 0);
    return (started_ns - submitted_ns) * 1e-9;
}

/* ---- a plain thread ---- */

static sem_t go, gone;
static pthread_t plain;

static void *run_plain(void *unused)
{
    (void) unused;
    for (;;) {
        sem_wait(&go);
        started_ns = mtlm_now_ns();
        sem_post(&gone);
    }
    return NULL;
}

static void start_plain(void)
{
    sem_init(&go, 0, 0);
    sem_init(&gone, 0, 0);
    assert_int_equal(pthread_create(&plain, NULL, run_plain, NULL), 0);
}

static double late_plain(void)
{
    const int64_t from_ns = mtlm_now_ns();

    sem_post(&go);
    sem_wait(&gone);
    return (started_ns - from_ns) * 1e-9;
}

/* ---- how late a task starts ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(double *seconds)
{
    qsort(seconds, TIMES, sizeof(seconds[0]), compare);
    return seconds[TIMES / 2];
}

/* Sleeps until the workers take naps of a millisecond, each time until another
 * moment of a nap. */
static void pause_longer_than_workers_poll(void)
{
    usleep(10000 + rand() % 3000);
}

/* Returns how much later a task starts than a plain thread: others may need the
 * machine. */
static double later(int worker)
{
    double task[TIMES], thread[TIMES];

    for (int i = 0; i < TIMES; i++) {
        pause_longer_than_workers_poll();
        task[i] = late_task(worker);
        pause_longer_than_workers_poll();
        thread[i] = late_plain();
    }
    return median(task) - median(thread);
}

/* Returns the least of rounds, up to the first that is good. */
static double least_later(int worker)
{
    double least = later(worker);

    for (int i = 1; i < ROUNDS && least >= LATE_S; i++)
        least = fmin(least, later(worker));
    return least;
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
    double share; /* of a core that a worker takes, by the processor's time */
    double looks; /* for a task, of a worker in a second */
};

static double clock_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Counts how often workers look for a task, too: where others need the core, a
 * worker that never sleeps takes little of it. */
static struct cost idle_cost(unsigned (*look)(void *))
{
    const int hook = starpu_idle_hook_register(look, NULL);
    double cpu, wall;
    int n;

    usleep(100000); /* until the workers sleep as long as they may */
    n = looks;
    wall = clock_s(CLOCK_MONOTONIC);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    sleep(1);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = clock_s(CLOCK_MONOTONIC) - wall;
    n = looks - n;
    starpu_idle_hook_deregister(hook);
    return (struct cost){cpu / wall / WORKERS, n / wall / WORKERS};
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
    start_plain();
    late_task(ANY);
    cost = idle_cost(count_look);
    any = least_later(ANY);
    bound = least_later(WORKERS - 1);
    mtlm_machine_stop();
    fprintf(stderr,
            "%s: %.2f %% of a core, %.0f looks a second; a task starts %.3f ms "
            "later than a thread, of a worker %.3f ms\n",
            (const char *) name, 100 * cost.share, cost.looks, 1e3 * any,
            1e3 * bound);
    return cost.share < 0.05 && cost.looks <= MOST_LOOKS && any < LATE_S
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

/* Where others need the machine, workers get the core later than asked. */
static int ask_again(const void *unused)
{
    double most = 0;

    (void) unused;
    if (start_machine() < 0)
        return EXIT_FAILURE;
    for (int i = 0; i < ROUNDS && most <= 2 * MOST_LOOKS; i++)
        most = fmax(most, idle_cost(count_and_ask_again).looks);
    mtlm_machine_stop();
    fprintf(stderr, "%.0f looks a second\n", most);
    return most > 2 * MOST_LOOKS ? EXIT_SUCCESS : EXIT_FAILURE;
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
