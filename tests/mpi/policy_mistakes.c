/* Scheduling policies that make mistakes; STARPU_SCHED names the mistake.
 * tests/mpi/policy_mistakes.sh and tests/launch/virtual.sh compile the file
 * against installed headers.
 *
 *   twice     starts a task again
 *   early     starts a task linear_wgrad that is not ready.  Forward and
 *             backward come before, so no worker makes the task ready first.
 *   astray    gives tasks to workers that cannot run them
 *   double, lost  the same as twice and astray, by starpu_push_local_task()
 *   withhold  keeps the first task named linear_wgrad of rank 0; makes the file
 *             "withheld" then.  The policy watches no nodes. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <mtlm/policy.h>

MTLM_POLICY_PLUGIN;

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list ready;
static struct starpu_task *submitted; /* linear_wgrad, and not ready */
static struct starpu_task *kept;
static struct starpu_task *given; /* to be given once more */
static int n_given;

static void init(unsigned sched_ctx)
{
    starpu_task_list_init(&ready);
    starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
}

static int is_wgrad(const struct starpu_task *task)
{
    return task->name && strcmp(task->name, "linear_wgrad") == 0;
}

static void submit(struct starpu_task *task)
{
    if (!is_wgrad(task))
        return;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    submitted = task;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
}

static int push(struct starpu_task *task)
{
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    submitted = submitted == task ? NULL : submitted;
    starpu_task_list_push_back(&ready, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
        starpu_wake_worker_relax_light(worker);
    return 0;
}

static struct starpu_task *best_of(int all)
{
    const unsigned worker = starpu_worker_get_id_check();
    struct starpu_task *task, *best = NULL;

    for (task = starpu_task_list_begin(&ready); task;
         task = starpu_task_list_next(task))
        if (task != kept && (!best || task->priority > best->priority)
            && (all
                || starpu_worker_can_execute_task_first_impl(worker, task,
                                                             NULL)))
            best = task;
    return best;
}

static struct starpu_task *take(int all)
{
    struct starpu_task *task;

    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    task = best_of(all);
    if (task)
        starpu_task_list_erase(&ready, task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return task;
}

static struct starpu_task *pop_twice(unsigned sched_ctx)
{
    struct starpu_task *task = given;

    (void) sched_ctx;
    given = NULL;
    if (task)
        return task;
    task = take(0);
    if (task && ++n_given == 40)
        given = task;
    return task;
}

static struct starpu_task *pop_early(unsigned sched_ctx)
{
    struct starpu_task *early;

    (void) sched_ctx;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    early = submitted;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return early ? early : take(0);
}

static struct starpu_task *pop_astray(unsigned sched_ctx)
{
    (void) sched_ctx;
    return take(1);
}

/* Returns the first worker that can run the task, or cannot; else 0. */
static int find_worker(struct starpu_task *task, int can)
{
    for (unsigned w = 0; w < starpu_worker_get_count(); w++)
        if (starpu_worker_can_execute_task_first_impl(w, task, NULL) == can)
            return (int) w;
    return 0;
}

static int push_double(struct starpu_task *task)
{
    const int worker = find_worker(task, 1);
    int rc = starpu_push_local_task(worker, task, 0);

    if (__atomic_add_fetch(&n_given, 1, __ATOMIC_SEQ_CST) == 40)
        rc = starpu_push_local_task(worker, task, 0);
    return rc;
}

static int push_lost(struct starpu_task *task)
{
    return starpu_push_local_task(find_worker(task, 0), task, 0);
}

static void withhold(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    struct starpu_task *task;

    if (kept || (rank && strcmp(rank, "0") != 0))
        return;
    for (task = starpu_task_list_begin(&ready); task && !kept;
         task = starpu_task_list_next(task))
        if (is_wgrad(task))
            kept = task;
    if (kept)
        fclose(fopen("withheld", "w"));
}

static struct starpu_task *pop_but_one(unsigned sched_ctx)
{
    (void) sched_ctx;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    withhold();
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return take(0);
}

static struct starpu_sched_policy policy[] = {
    {.policy_name = "twice", .pop_task = pop_twice},
    {.policy_name = "early", .pop_task = pop_early, .submit_hook = submit},
    {.policy_name = "astray", .pop_task = pop_astray},
    {.policy_name = "double", .push_task = push_double},
    {.policy_name = "lost", .push_task = push_lost},
    {.policy_name = "withhold", .pop_task = pop_but_one}};

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    for (size_t i = 0; i < sizeof(policy) / sizeof(*policy); i++) {
        policy[i].init_sched = init;
        if (!policy[i].push_task)
            policy[i].push_task = push;
        policy[i].worker_type = STARPU_WORKER_LIST;
        if (strcmp(name, policy[i].policy_name) == 0)
            return &policy[i];
    }
    return NULL;
}
