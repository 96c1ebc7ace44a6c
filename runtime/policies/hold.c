/* The scheduling policy "mtlm": a queue for each rank, highest priority first,
 * with the hold rule.  docs/policies.md explains both.
 *
 * The hold rule.  A free worker's best ready task is a forward pass or a weight
 * gradient.  The worker does not start the task while a task of higher priority
 * is about to become ready.  About to: everything that task waits for has
 * started, and will end within a share of the ready task's duration.
 *
 * Without the rule a worker fills each all-reduce within a layer with a task of
 * another microbatch.  Both microbatches then advance at half the speed, and
 * hold their memory for twice as long.  Or a worker starts a weight gradient
 * just before a B of another pipeline rank arrives.
 *
 * With pipeline ranks the share is mtlm_policy_advice(): plans count the same
 * share.  Without them the share is a quarter.  MTLM_HOLD replaces both; 0
 * turns the rule off. */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <mtlm/policy.h>

/* Most coming tasks that the policy follows; most predecessors of a node. */
enum { MOST_COMING = 256, MOST_PREDECESSORS = 64 };

/* A coming task: it waits for a message that has its data. */
struct coming {
    const struct mtlm_policy_node *node;
    int64_t when; /* it will be ready, as known in the present pop() */
};

/* What the workers of a rank choose from. */
struct rank_queue {
    struct starpu_task_list ready;
    struct coming coming[MOST_COMING];
    int n_coming;
    int holding; /* workers */
};

static struct {
    starpu_pthread_mutex_t mutex; /* guards all: */
    struct rank_queue *rank;      /* [mtlm_policy_ranks()] */
    bool *holds;                  /* [starpu_worker_get_count()] */
    double share;                 /* without pipeline ranks */
    bool has_share;               /* MTLM_HOLD: with them, too */
} hold;

/* Locks the policy.  StarPU may use the worker during the wait for the lock. */
static void lock(void)
{
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&hold.mutex);
    starpu_worker_relax_off();
}

static void unlock(void)
{
    STARPU_PTHREAD_MUTEX_UNLOCK(&hold.mutex);
}

/* ---- coming tasks ---- */

static int find_coming(const struct rank_queue *rank,
                       const struct mtlm_policy_node *node)
{
    int i = 0;

    while (i < rank->n_coming && rank->coming[i].node != node)
        i++;
    return i;
}

/* A message has its data: notes the task behind the message as coming. */
static void on_message(const struct mtlm_policy_node *message)
{
    struct rank_queue *rank = &hold.rank[message->rank];
    const struct mtlm_policy_node *next;

    STARPU_PTHREAD_MUTEX_LOCK(&hold.mutex);
    next = mtlm_policy_next(message);
    if (next && rank->n_coming < MOST_COMING
        && find_coming(rank, next) == rank->n_coming)
        rank->coming[rank->n_coming++] = (struct coming){next, INT64_MAX};
    STARPU_PTHREAD_MUTEX_UNLOCK(&hold.mutex);
}

/* Forgets a coming task that is ready.  Its node lives until here: no task
 * starts unless this policy hears of the task. */
static void has_come(const struct mtlm_policy_node *node)
{
    struct rank_queue *rank = node ? &hold.rank[node->rank] : NULL;
    const int i = node ? find_coming(rank, node) : 0;

    if (node && i < rank->n_coming)
        rank->coming[i] = rank->coming[--rank->n_coming];
}

/* Returns when all predecessors of the node will have ended; INT64_MAX:
 * unknown. */
static int64_t when_ready(const struct mtlm_policy_node *node)
{
    const struct mtlm_policy_node *on[MOST_PREDECESSORS];
    const size_t n = mtlm_policy_predecessors(node, on, MOST_PREDECESSORS);
    int64_t when = 0;

    if (n > MOST_PREDECESSORS)
        return INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int64_t end = mtlm_policy_end_ns(on[i]);

        if (end < 0)
            return INT64_MAX;
        when = end > when ? end : when;
    }
    return when;
}

/* What decides whether a worker holds. */
struct view {
    struct rank_queue *rank;
    int64_t now; /* 0: nobody asked yet when coming tasks will be ready */
    double share;
    bool leaves_backward;
    int others; /* workers of the rank that hold */
};

static struct view view_of(unsigned worker)
{
    const int r = mtlm_policy_rank(worker);
    struct view view = {.rank = &hold.rank[r]};
    struct mtlm_policy_advice advice;
    bool alone;

    if (view.rank->n_coming == 0)
        return view;
    advice = mtlm_policy_advice();
    alone = mtlm_policy_job(r).pipeline == 1;
    view.share = alone || hold.has_share ? hold.share : advice.share;
    view.leaves_backward = !alone && advice.leaves_backward;
    view.others = view.rank->holding - hold.holds[worker];
    return view;
}

/* Finds when coming tasks will be ready. */
static void look_ahead(struct view *view)
{
    if (view->now)
        return;
    view->now = mtlm_policy_now_ns();
    for (int i = 0; i < view->rank->n_coming; i++)
        view->rank->coming[i].when = when_ready(view->rank->coming[i].node);
}

/* Whether tasks of this kind are left for coming ones. */
static bool may_leave(const struct view *view,
                      const struct mtlm_policy_node *node)
{
    return node && node->kind == MTLM_POLICY_TASK
           && (node->phase == MTLM_PHASE_FORWARD
               || node->phase == MTLM_PHASE_WEIGHT
               || (node->phase == MTLM_PHASE_BACKWARD
                   && view->leaves_backward));
}

/* Returns until when the worker leaves the task for a coming one; 0: the worker
 * does not, or enough other workers hold.  The end is the expected time plus
 * the worker's patience: otherwise two ranks could hold for each other for
 * ever. */
static int64_t hold_until(struct view *view, const struct starpu_task *task)
{
    const struct mtlm_policy_node *node = mtlm_policy_node(task);
    int64_t patience, until = INT64_MAX;
    int n = 0;

    if (view->rank->n_coming == 0 || !may_leave(view, node))
        return 0;
    patience = view->share * mtlm_policy_duration_ns(node);
    if (patience <= 0)
        return 0;
    look_ahead(view);
    for (int i = 0; i < view->rank->n_coming; i++) {
        const struct coming *c = &view->rank->coming[i];

        if (c->node->priority > task->priority
            && mtlm_policy_holds(view->now, c->when, patience)) {
            until = c->when + patience < until ? c->when + patience : until;
            n++;
        }
    }
    return n > view->others ? until : 0;
}

static void set_holds(struct rank_queue *rank, unsigned worker, bool holds)
{
    rank->holding += holds - hold.holds[worker];
    hold.holds[worker] = holds;
}

/* Returns the rank whose workers may run the task. */
static int rank_of(struct starpu_task *task)
{
    unsigned worker = 0;

    while (mtlm_policy_ranks() > 1
           && !starpu_worker_can_execute_task_first_impl(worker, task, NULL))
        worker++;
    return mtlm_policy_rank(worker);
}

/* ---- what StarPU calls ---- */

static int push(struct starpu_task *task)
{
    struct starpu_worker_collection *workers =
        starpu_sched_ctx_get_worker_collection(task->sched_ctx);
    const int rank = rank_of(task);
    struct starpu_sched_ctx_iterator it;

    lock();
    has_come(mtlm_policy_node(task));
    starpu_task_list_push_back(&hold.rank[rank].ready, task);
    starpu_push_task_end(task);
    unlock();
    workers->init_iterator(workers, &it);
    while (workers->has_next(workers, &it)) {
        const unsigned worker = workers->get_next(workers, &it);

        if (mtlm_policy_rank(worker) == rank)
            starpu_wake_worker_relax_light(worker);
    }
    return 0;
}

/* A task that is bound to a worker has come, too: a message, or a pass in a
 * lane of an order. */
static void push_notify(struct starpu_task *task, int worker, int perf,
                        unsigned sched_ctx)
{
    (void) worker;
    (void) perf;
    (void) sched_ctx;
    lock();
    has_come(mtlm_policy_node(task));
    unlock();
}

/* Returns the ready task of highest priority that the worker can run and does
 * not leave for a coming one; of equal priority, the one that became ready
 * first.  *until: the earliest end of a hold; 0: no task is left. */
static struct starpu_task *best(struct rank_queue *rank, unsigned worker,
                                int64_t *until)
{
    struct view view = view_of(worker);
    struct starpu_task *task = starpu_task_list_begin(&rank->ready), *first;

    *until = 0;
    for (first = NULL; task; task = starpu_task_list_next(task)) {
        int64_t end;

        if ((first && task->priority <= first->priority)
            || !starpu_worker_can_execute_task_first_impl(worker, task, NULL))
            continue;
        end = hold_until(&view, task);
        if (end == 0)
            first = task;
        else if (*until == 0 || end < *until)
            *until = end;
    }
    return first;
}

/* A holding worker gets no task.  Workers poll (StarPU without
 * --enable-blocking-drivers) or are asked again, so the hold ends in time. */
static struct starpu_task *pop(unsigned sched_ctx)
{
    const int worker = starpu_worker_get_id_check();
    struct rank_queue *rank = &hold.rank[mtlm_policy_rank(worker)];
    struct starpu_task *task;
    int64_t until;

    (void) sched_ctx;
    if (starpu_task_list_empty(&rank->ready))
        return NULL;
    lock();
    task = best(rank, worker, &until);
    set_holds(rank, worker, !task && until > 0);
    if (task)
        starpu_task_list_erase(&rank->ready, task);
    else if (until > 0)
        mtlm_policy_ask_again(worker, until);
    unlock();
    return task;
}

/* Sets the shares from MTLM_HOLD, which the program has checked.  Without
 * polling workers, nobody would ask again for a task after a wait: the rule is
 * off. */
static void read_share(void)
{
#if defined(STARPU_NON_BLOCKING_DRIVERS) || defined(STARPU_SIMGRID)
    const char *text = getenv("MTLM_HOLD");

    hold.has_share = text && *text;
    hold.share = hold.has_share ? strtod(text, NULL) : 0.25;
#else
    hold.share = 0;
    hold.has_share = false;
    fprintf(stderr, "mtlm: the workers of this StarPU sleep "
                    "(--enable-blocking-drivers); no worker waits\n");
#endif
}

static void init(unsigned sched_ctx)
{
    STARPU_PTHREAD_MUTEX_INIT(&hold.mutex, NULL);
    hold.rank = calloc(mtlm_policy_ranks(), sizeof(*hold.rank));
    hold.holds = calloc(starpu_worker_get_count(), sizeof(*hold.holds));
    if (!hold.rank || !hold.holds)
        abort();
    for (int i = 0; i < mtlm_policy_ranks(); i++)
        starpu_task_list_init(&hold.rank[i].ready);
    read_share();
    starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
    if (hold.share > 0)
        mtlm_policy_watch(&(struct mtlm_policy_watch){.ready = on_message});
}

static void deinit(unsigned sched_ctx)
{
    (void) sched_ctx;
    mtlm_policy_watch(NULL);
    STARPU_PTHREAD_MUTEX_DESTROY(&hold.mutex);
    free(hold.rank);
    free(hold.holds);
}

extern struct starpu_sched_policy mtlm_hold_policy;
struct starpu_sched_policy mtlm_hold_policy = {
    .init_sched = init,
    .deinit_sched = deinit,
    .push_task = push,
    .push_task_notify = push_notify,
    .pop_task = pop,
    .policy_name = "mtlm",
    .policy_description = "by priority, with a moment's patience",
    .worker_type = STARPU_WORKER_LIST,
};
