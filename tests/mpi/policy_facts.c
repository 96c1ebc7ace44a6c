/* The scheduling policy "facts": checks what mtlm/policy.h says of the job
 * against closed forms.  tests/mpi/plugins.sh and tests/launch/virtual.sh
 * compile the file against installed headers.  FACTS: t, p, d, v, m,
 * iterations; then 1 if collectives have a plan, as in virtual time. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <mtlm/policy.h>

MTLM_POLICY_PLUGIN;

enum { RANKS = 16, PHASES = 3, MOST = 64 };

#define CHECK(yes) ((yes) ? (void) 0 : wrong(__LINE__, #yes))

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task_list ready;
static int t, p, d, v, m, iterations, planned;
static long first[RANKS][PHASES], last[RANKS][PHASES]; /* tasks seen */
/* Smallest and largest job of a block's tasks of layers; the ends'. */
static struct {
    int64_t least, most, first, last;
} blocks[RANKS][PHASES][MOST];
static int backward[RANKS]; /* a B has been handed out */
static int order[RANKS];    /* of the next collective that starts */
static long ordered;

static void wrong(int line, const char *what)
{
    fprintf(stderr, "line %d is wrong: %s\n", line, what);
    exit(1);
}

static void check_job(int rank)
{
    const struct mtlm_policy_job job = mtlm_policy_job(rank);
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    const int number = text ? atoi(text) : rank * t * d;
    const struct mtlm_policy_slots slots = mtlm_policy_slots(rank, 0);

    CHECK(job.tensor == t && job.pipeline == p && job.data == d);
    CHECK(job.virtual_stages == v && job.microbatches == m && job.workers > 0);
    CHECK(number
          == job.tensor_rank + t * (job.data_rank + d * job.pipeline_rank));
    CHECK(mtlm_policy_slots(rank, v).backward == 0);
    if (v > 1)
        return;
    /* ZB-H1: p - r microbatches between F and B, p until W. */
    CHECK(slots.backward == p - job.pipeline_rank && slots.weight == p);
    CHECK(slots.free >= 0 && slots.free <= slots.backward);
}

static void check_node(const struct mtlm_policy_node *node)
{
    const int i = node->microbatch + m * node->chunk;
    const int phase = node->phase;

    CHECK(node->order == -1);
    CHECK(node->microbatch < 0 || node->microbatches == m);
    CHECK(node->layer < 0 || node->microbatch < m);
    if (phase >= PHASES || node->iteration > 0 || node->microbatch < 0)
        return;
    if (node->first)
        blocks[node->rank][phase][i].first = node->job;
    if (node->last)
        blocks[node->rank][phase][i].last = node->job;
    if (node->layer < 0)
        return;
    if (!blocks[node->rank][phase][i].least
        || node->job < blocks[node->rank][phase][i].least)
        blocks[node->rank][phase][i].least = node->job;
    if (node->job > blocks[node->rank][phase][i].most)
        blocks[node->rank][phase][i].most = node->job;
}

static void started(const struct mtlm_policy_node *message)
{
    if (message->kind != MTLM_POLICY_COLLECTIVE || !planned) {
        CHECK(message->order == -1);
        return;
    }
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    if (mtlm_policy_ranks() == 1 && message->phase <= MTLM_PHASE_OPTIMIZER) {
        if (message->order == 0)
            order[0] = 0;
        CHECK(message->order == order[0]);
        order[0]++;
    }
    ordered++;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
}

static void init(unsigned sched_ctx)
{
    const char *text = getenv("FACTS");

    CHECK(text
          && sscanf(text, "%d %d %d %d %d %d %d", &t, &p, &d, &v, &m,
                    &iterations, &planned)
                 == 7);
    CHECK(mtlm_policy_ranks() <= RANKS && m * v <= MOST);
    starpu_task_list_init(&ready);
    starpu_sched_ctx_set_min_priority(sched_ctx, INT_MIN);
    starpu_sched_ctx_set_max_priority(sched_ctx, INT_MAX);
    CHECK(mtlm_policy_job(0).pipeline == 0);
    mtlm_policy_watch(&(struct mtlm_policy_watch){.started = started});
}

static void check_end(int rank)
{
    for (int phase = 0; phase < PHASES; phase++) {
        CHECK(first[rank][phase] == (long) m * v * iterations);
        CHECK(last[rank][phase] == first[rank][phase]);
        for (int i = 0; i < m * v; i++)
            CHECK(blocks[rank][phase][i].first <= blocks[rank][phase][i].least
                  && blocks[rank][phase][i].most
                         <= blocks[rank][phase][i].last);
    }
    for (int c = 0; c < v; c++)
        CHECK(mtlm_policy_slots(rank, c).free
              == mtlm_policy_slots(rank, c).backward);
    CHECK(backward[rank] == 1);
}

static void deinit(unsigned sched_ctx)
{
    (void) sched_ctx;
    for (int rank = 0; rank < mtlm_policy_ranks(); rank++)
        check_end(rank);
    CHECK(!planned == !ordered);
    mtlm_policy_watch(NULL);
    printf("facts hold\n");
}

static int push(struct starpu_task *task)
{
    const struct mtlm_policy_node *node = mtlm_policy_node(task);

    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    CHECK(node);
    check_job(node->rank);
    if (node->kind == MTLM_POLICY_TASK)
        check_node(node);
    starpu_task_list_push_back(&ready, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
        starpu_wake_worker_relax_light(worker);
    return 0;
}

static void hand_out(const struct mtlm_policy_node *node)
{
    if (node->kind != MTLM_POLICY_TASK || node->phase > MTLM_PHASE_WEIGHT)
        return;
    first[node->rank][node->phase] += node->first;
    last[node->rank][node->phase] += node->last;
    if (node->phase != MTLM_PHASE_BACKWARD || !node->first
        || backward[node->rank])
        return;
    /* The warm-up has filled the window. */
    backward[node->rank] = 1;
    CHECK(v > 1 || mtlm_policy_slots(node->rank, 0).free == 0);
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
    if (best) {
        starpu_task_list_erase(&ready, best);
        hand_out(mtlm_policy_node(best));
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    return best;
}

static struct starpu_sched_policy facts = {.init_sched = init,
                                           .deinit_sched = deinit,
                                           .push_task = push,
                                           .pop_task = pop,
                                           .policy_name = "facts",
                                           .worker_type = STARPU_WORKER_LIST};

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    return strcmp(name, "facts") == 0 ? &facts : NULL;
}
