/* Notes which tasks a user's policy has, and ends the job when the policy
 * starts one that it must not start. */

#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/machine/policy_guard.h"
#include "runtime/machine/policy_text.h"

enum { LISTS = 1024, RECENT = 64 };

/* A task between push_task() and its start. */
struct held_task {
    const struct starpu_task *task; /* perhaps over: not to be read */
    struct held_task *next;
    bool popped; /* a worker has the task */
    bool known;
    struct mtlm_policy_node about; /* only name, unless known */
};

static const struct starpu_sched_policy *inner;
static mtlm_policy_guard_about *about_task;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these: */
static struct held_task *lists[LISTS];                    /* by address */
static struct held_task recent[RECENT]; /* tasks that started last */
static unsigned n_recent;

/* ---- tasks ---- */

/* Returns the place of the pointer to the task, or of the end of its list. */
static struct held_task **find(const struct starpu_task *task)
{
    struct held_task **at = &lists[(uintptr_t) task / 64 % LISTS];

    while (*at && (*at)->task != task)
        at = &(*at)->next;
    return at;
}

static void add(const struct starpu_task *task)
{
    struct held_task **at = find(task), *t = *at;

    if (!t)
        t = *at = mtlm_calloc(1, sizeof(*t));
    t->task = task;
    t->popped = false;
    t->about = (struct mtlm_policy_node){.name = task->name};
    t->known = about_task && about_task(task, &t->about);
    if (!t->about.name)
        t->about.name = "a task";
}

static void move_to_recent(struct held_task **at)
{
    struct held_task *t = *at;

    *at = t->next;
    recent[n_recent++ % RECENT] = *t;
    free(t);
}

static void describe(const struct held_task *t, char *text, size_t n)
{
    if (t->known)
        mtlm_policy_text_node(&t->about, text, n);
    else
        snprintf(text, n, "%s", t->about.name);
}

/* ---- mistakes ---- */

/* The task may be over and its memory free. */
static void __attribute__((noreturn))
refuse_task(const struct starpu_task *task)
{
    const struct held_task *t = *find(task);
    char text[160];

    for (int i = 0; i < RECENT && !t; i++)
        if (recent[i].task == task)
            t = &recent[i];
    if (!t)
        mtlm_end_job(MTLM_EXIT_USAGE,
                     "the scheduling policy %s has started a task that is not "
                     "ready or is over",
                     inner->policy_name);
    describe(t, text, sizeof(text));
    mtlm_end_job(MTLM_EXIT_USAGE,
                 "the scheduling policy %s has started %s twice",
                 inner->policy_name, text);
}

static void check_worker(struct starpu_task *task, const struct held_task *t,
                         unsigned worker)
{
    char text[160];

    if (starpu_worker_can_execute_task_first_impl(worker, task, NULL))
        return;
    describe(t, text, sizeof(text));
    mtlm_end_job(MTLM_EXIT_USAGE,
                 "the scheduling policy %s has given %s to worker %u, which "
                 "cannot run the task",
                 inner->policy_name, text, worker);
}

/* The policy gives the task to a worker. */
static void give(struct starpu_task *task, unsigned worker)
{
    struct held_task *t;

    pthread_mutex_lock(&mutex);
    t = *find(task);
    if (!t || t->popped)
        refuse_task(task);
    check_worker(task, t, worker);
    t->popped = true;
    pthread_mutex_unlock(&mutex);
}

/* ---- what the policy calls ---- */

typedef int push_local_task(int worker, struct starpu_task *task, int back);

static push_local_task *starpus_push; /* StarPU's own, behind ours */

static void find_starpus_push(void)
{
    *(void **) &starpus_push = dlsym(RTLD_NEXT, "starpu_push_local_task");
    if (!starpus_push)
        mtlm_fatal(__FILE__, __LINE__, "StarPU has no starpu_push_local_task");
}

/* Policies, StarPU's too, call this function in place of StarPU's, which
 * believes that the task is ready and can run on the worker. */
int starpu_push_local_task(int worker, struct starpu_task *task, int back)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_starpus_push);
    if (inner)
        give(task, (unsigned) worker);
    return starpus_push(worker, task, back);
}

/* ---- what StarPU calls ---- */

/* The task may lie where a task lay that is over. */
static void forget_recent(const struct starpu_task *task)
{
    for (int i = 0; i < RECENT; i++)
        if (recent[i].task == task)
            recent[i].task = NULL;
}

/* StarPU calls the function for each task, before the task is ready. */
static void submit(struct starpu_task *task)
{
    pthread_mutex_lock(&mutex);
    forget_recent(task);
    pthread_mutex_unlock(&mutex);
    if (inner->submit_hook)
        inner->submit_hook(task);
}

/* Another worker may pop the task before push_task() returns. */
static int push(struct starpu_task *task)
{
    pthread_mutex_lock(&mutex);
    add(task);
    pthread_mutex_unlock(&mutex);
    return inner->push_task(task);
}

static struct starpu_task *pop(unsigned sched_ctx)
{
    struct starpu_task *task = inner->pop_task(sched_ctx);

    if (task)
        give(task, starpu_worker_get_id_check());
    return task;
}

/* Also called for tasks that the policy does not place, and for tasks that the
 * policy gave to a worker without pop_task(). */
static void start(struct starpu_task *task, unsigned sched_ctx)
{
    struct held_task **at;

    pthread_mutex_lock(&mutex);
    at = find(task);
    if (*at)
        move_to_recent(at);
    pthread_mutex_unlock(&mutex);
    if (inner->pre_exec_hook)
        inner->pre_exec_hook(task, sched_ctx);
}

struct starpu_sched_policy *mtlm_policy_guard(
    const struct starpu_sched_policy *policy)
{
    static struct starpu_sched_policy guard;

    inner = policy;
    guard = *policy;
    guard.submit_hook = submit;
    guard.push_task = push;
    guard.pop_task = policy->pop_task ? pop : NULL;
    guard.pre_exec_hook = start;
    return &guard;
}

void mtlm_policy_guard_describe(mtlm_policy_guard_about *about)
{
    about_task = about;
}

bool mtlm_policy_guard_withheld(char *text, size_t n)
{
    const struct held_task *best = NULL;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < LISTS; i++)
        for (const struct held_task *t = lists[i]; t; t = t->next)
            if (!t->popped
                && (!best || t->about.priority > best->about.priority))
                best = t;
    if (best)
        describe(best, text, n);
    pthread_mutex_unlock(&mutex);
    return best != NULL;
}
