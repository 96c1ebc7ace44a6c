/* The scheduling policy "seen": checks what mtlm/policy.h says against what
 * StarPU says and what messages do.  tests/mpi/plugins.sh compiles it against
 * installed headers. */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <mtlm/policy.h>

MTLM_POLICY_PLUGIN;

enum { MOST = 256, JOBS = 1 << 16 };

#define CHECK(yes) ((yes) ? (void) 0 : wrong(__LINE__, #yes))

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list ready;
static long pushed, behind, known; /* tasks */
static long notified;              /* messages that are tasks */
static long times[3];              /* messages became ready, started, ended */
/* The receive that started last, until its end; looks at which the end of one
 * was known in advance. */
static const struct mtlm_policy_node *receive;
static long receives, announced;
/* Whether the task is to come behind a message. */
static bool expected[JOBS];

static void wrong(int line, const char *what)
{
    printf("line %d is wrong: %s\n", line, what);
    exit(1);
}

static void is_ready(const struct mtlm_policy_node *m)
{
    const struct mtlm_policy_node *next = mtlm_policy_next(m), *on[MOST];
    size_t n = mtlm_policy_predecessors(m, on, MOST);

    CHECK(m->kind != MTLM_POLICY_TASK && m->lane != MTLM_LANE_COMPUTE);
    CHECK((m->peer >= 0) == (m->lane == MTLM_LANE_PP));
    CHECK(mtlm_policy_state(m) == MTLM_POLICY_READY);
    CHECK(n <= MOST);
    for (size_t i = 0; i < n; i++)
        CHECK(mtlm_policy_state(on[i]) == MTLM_POLICY_DONE
              && on[i]->job < m->job);
    __atomic_add_fetch(&times[0], 1, __ATOMIC_SEQ_CST);
    if (!next)
        return;
    CHECK(next->kind == MTLM_POLICY_TASK && next->job > m->job);
    CHECK(next->microbatch == m->microbatch && next->iteration == m->iteration);
    CHECK(mtlm_policy_state(next) == MTLM_POLICY_WAITING);
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    expected[next->job % JOBS] = true;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
}

static void has_started(const struct mtlm_policy_node *m)
{
    CHECK(mtlm_policy_state(m) == MTLM_POLICY_RUNNING);
    if (m->kind == MTLM_POLICY_RECEIVE) {
        CHECK(mtlm_policy_duration_ns(m) < 0);
        STARPU_PTHREAD_MUTEX_LOCK(&mutex);
        receive = m;
        receives++;
        STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    }
    __atomic_add_fetch(&times[1], 1, __ATOMIC_SEQ_CST);
}

static void has_ended(const struct mtlm_policy_node *m)
{
    CHECK(mtlm_policy_state(m) == MTLM_POLICY_DONE);
    CHECK(mtlm_policy_end_ns(m) > 0);
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    receive = receive == m ? NULL : receive;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    __atomic_add_fetch(&times[2], 1, __ATOMIC_SEQ_CST);
}

static void init(unsigned sched_ctx)
{
    (void) sched_ctx;
    starpu_task_list_init(&ready);
    starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
    mtlm_policy_watch(
        &(struct mtlm_policy_watch){is_ready, has_started, has_ended});
}

static void deinit(unsigned sched_ctx)
{
    (void) sched_ctx;
    mtlm_policy_watch(NULL);
    CHECK(pushed > 0 && behind > 0 && known > 0);
    CHECK(times[0] > 0 && times[0] == times[1] && times[1] == times[2]);
    CHECK(receives == 0 || announced > 0);
    CHECK(notified == 0 || notified == times[0]);
    printf("seen %ld tasks, %ld behind messages, %ld messages %s\n", pushed,
           behind, times[0], notified ? "task" : "acquire");
}

/* A message that is a task is told of, not pushed. */
static void notify(struct starpu_task *task, int worker, int perf_worker,
                   unsigned sched_ctx)
{
    const struct mtlm_policy_node *node = mtlm_policy_node(task);

    (void) perf_worker, (void) sched_ctx;
    if (!node)
        return; /* the end of one */
    CHECK(node->kind != MTLM_POLICY_TASK && !strcmp(node->name, task->name));
    CHECK(node->priority == task->priority && worker >= 0);
    CHECK(mtlm_policy_state(node) == MTLM_POLICY_READY);
    __atomic_add_fetch(&notified, 1, __ATOMIC_SEQ_CST);
}

static int push(struct starpu_task *task)
{
    const struct mtlm_policy_node *node = mtlm_policy_node(task), *on[MOST];
    size_t n;

    CHECK(node && node->kind == MTLM_POLICY_TASK);
    CHECK(node->priority == task->priority && !strcmp(node->name, task->name));
    CHECK(node->flops == task->flops
          && mtlm_policy_state(node) == MTLM_POLICY_WAITING);
    n = mtlm_policy_predecessors(node, on, MOST);
    CHECK(n <= MOST);
    for (size_t i = 0; i < n; i++)
        CHECK(mtlm_policy_state(on[i]) == MTLM_POLICY_DONE);
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    if (expected[node->job % JOBS]) {
        bool there = false;
        for (size_t i = 0; i < n; i++)
            there |= on[i]->kind != MTLM_POLICY_TASK;
        CHECK(there);
        behind++;
    }
    expected[node->job % JOBS] = false;
    known += mtlm_policy_duration_ns(node) > 0;
    pushed++;
    starpu_task_list_push_back(&ready, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return 0;
}

static struct starpu_task *pop(unsigned sched_ctx)
{
    const unsigned worker = starpu_worker_get_id_check();
    struct starpu_task *task;

    (void) sched_ctx;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    task = starpu_task_list_begin(&ready);
    while (task
           && !starpu_worker_can_execute_task_first_impl(worker, task, NULL))
        task = starpu_task_list_next(task);
    if (task)
        starpu_task_list_erase(&ready, task);
    announced += receive && mtlm_policy_end_ns(receive) > 0;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return task;
}

static struct starpu_sched_policy seen = {.init_sched = init,
                                          .deinit_sched = deinit,
                                          .push_task = push,
                                          .pop_task = pop,
                                          .push_task_notify = notify,
                                          .policy_name = "seen"};

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    return strcmp(name, "seen") == 0 ? &seen : NULL;
}
