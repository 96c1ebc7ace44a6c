/* The scheduling policy "smallest": takes the ready task of highest priority, in
 * as few lines as possible.  Copy this file to write a policy of your own. */

#include <limits.h>

#include <starpu.h>
#include <starpu_scheduler.h>

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list ready;

static void init(unsigned sched_ctx)
{
    starpu_task_list_init(&ready);
    starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
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
            && starpu_worker_can_execute_task_first_impl(worker, task, NULL))
            best = task;
    if (best)
        starpu_task_list_erase(&ready, best);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return best;
}

extern struct starpu_sched_policy smallest_policy;
struct starpu_sched_policy smallest_policy = {
    .init_sched = init,
    .push_task = push,
    .pop_task = pop,
    .policy_name = "smallest",
    .policy_description = "by priority",
    .worker_type = STARPU_WORKER_LIST,
};
