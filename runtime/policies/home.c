/* The scheduling policy "home": each virtual stage of a rank has one worker.
 * Stages go round robin over the workers that may run their tasks.  A worker
 * takes the ready task of highest priority among its stages; any worker takes
 * tasks without a stage.  With --placement policy the workers of a rank form a
 * pipeline, whose bubble the other policies avoid.  The queue is that of
 * smallest.c; each policy is one file, to copy and change. */

#include <limits.h>
#include <stdbool.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <mtlm/policy.h>

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list ready;

static void init(unsigned sched_ctx)
{
    starpu_task_list_init(&ready);
    starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
    /* Nodes of tasks, no events of messages. */
    mtlm_policy_watch(&(struct mtlm_policy_watch){.ready = NULL});
}

static void deinit(unsigned sched_ctx)
{
    (void) sched_ctx;
    mtlm_policy_watch(NULL);
}

/* Whether a worker is the task's.  With --comm-node task one worker runs
 * messages only: count the workers that may run the task. */
static bool is_at_home(struct starpu_task *task, unsigned worker)
{
    const struct mtlm_policy_node *node = mtlm_policy_node(task);
    unsigned able[STARPU_NMAXWORKERS], n = 0;

    if (!node || node->phase > MTLM_PHASE_WEIGHT)
        return true;
    for (unsigned i = 0; i < starpu_worker_get_count(); i++)
        if (starpu_worker_can_execute_task_first_impl(i, task, NULL))
            able[n++] = i;
    return n == 0 || able[node->chunk % n] == worker;
}

static int push(struct starpu_task *task)
{
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    starpu_task_list_push_back(&ready, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
        starpu_wake_worker_relax_light(worker);
    return 0;
}

static struct starpu_task *pop(unsigned sched_ctx)
{
    const unsigned worker = starpu_worker_get_id_check();
    struct starpu_task *task, *best = NULL;

    (void) sched_ctx;
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    for (task = starpu_task_list_begin(&ready); task;
         task = starpu_task_list_next(task))
        if ((!best || task->priority > best->priority)
            && starpu_worker_can_execute_task_first_impl(worker, task, NULL)
            && is_at_home(task, worker))
            best = task;
    if (best)
        starpu_task_list_erase(&ready, best);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return best;
}

extern struct starpu_sched_policy mtlm_home_policy;
struct starpu_sched_policy mtlm_home_policy = {
    .init_sched = init,
    .deinit_sched = deinit,
    .push_task = push,
    .pop_task = pop,
    .policy_name = "home",
    .policy_description = "a worker for every stage",
    .worker_type = STARPU_WORKER_LIST,
};
