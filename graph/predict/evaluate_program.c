/* Evaluation of programs: one simulator task for each item, one for each
 * message and collective of all its ranks. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/build/dependencies.h"
#include "graph/predict/evaluate_program.h"
#include "graph/predict/simulator.h"
#include "graph/schedule/priority.h"

enum { NONE = -1, LANES = MTLM_LANE_DISK + 1 };

/* Tasks of the messages that a rank sends, or of the collectives of a group
 * that the rank leads.  NONE: no rank has added the message yet. */
struct tasks {
    int *task;
    size_t n;
};

/* The lanes and messages of a program. */
struct rank {
    int workers;     /* lane */
    int turn[LANES]; /* lanes of collectives that take turns; NONE: none yet */
    int disk;        /* lane; NONE: no load or store yet */
    int posted;      /* loads and stores added so far */
    struct tasks sent; /* [tag][use] */
    struct tasks *led; /* [group][number] */
    int *met;          /* [group] collectives added so far */
};

/* A message of the present rank, and the tasks of its microbatch behind it: the
 * first one of the same phase, and of another phase. */
struct awaited {
    const struct mtlm_item *item; /* NULL: no message of the rank */
    int iteration;
    int same, other; /* NONE: none yet */
};

struct builder {
    const struct mtlm_evaluate_program *job;
    struct mtlm_simulator *sim;
    struct mtlm_execution *run;
    size_t capacity;   /* of run->node */
    struct rank *rank; /* [job->n] */
    int *index;        /* [ranks of the layout] in rank[]; NONE: absent */
    int uses;
    int missing; /* ranks that have yet to add a message */
    /* The rank whose items are added: */
    int at;
    const struct mtlm_program *program;
    struct mtlm_dependencies *dependencies;
    int collectives; /* of the iteration so far */
    int link;        /* the chain's last task; NONE: no link yet */
    struct awaited *awaited; /* [task], where workers wait */
    size_t n_awaited;        /* room */
    int *mine, n_mine;       /* tasks of the rank's messages */
    size_t mine_room;
};

/* ---- tasks ---- */

static int64_t duration_ns(const struct builder *b,
                           const struct mtlm_item *item, int iteration)
{
    return mtlm_simulator_ns(
        b->job->seconds(b->job->arg, b->program, item, iteration));
}

static int64_t priority_of(const struct builder *b,
                           const struct mtlm_item *item, int iteration)
{
    const struct mtlm_priority p = mtlm_program_priority(b->program);

    return (int64_t) mtlm_priority_base(&p, iteration) + item->priority;
}

/* Returns the address of task number i, which is NONE if new.  Valid until the
 * next call. */
static int *find_task(struct tasks *tasks, size_t i)
{
    const size_t before = tasks->n;

    tasks->task =
        mtlm_make_room(tasks->task, &tasks->n, i + 1, sizeof(*tasks->task));
    for (size_t j = before; j < tasks->n; j++)
        tasks->task[j] = NONE;
    return &tasks->task[i];
}

/* Returns the lane in which the collective takes its turn. */
static int turn_of(struct builder *b, const struct mtlm_item *item)
{
    const enum mtlm_turns turns = b->job->turns;
    int *turn =
        &b->rank[b->at].turn[turns == MTLM_TURNS_ALL ? 0 : item->node->lane];

    if (*turn == NONE)
        *turn = mtlm_simulator_lane(b->sim, 1);
    return *turn;
}

/* A collective without a duration passes at once, without a turn: a worker that
 * it sets free must not choose before. */
static int collective_task(struct builder *b, const struct mtlm_item *item,
                           int iteration)
{
    const enum mtlm_group group = item->node->call.attr.collective.group;
    const struct mtlm_layout *mine = &b->program->config.layout;
    const int64_t ns = duration_ns(b, item, iteration);
    const int turn = ns > 0 ? turn_of(b, item) : NONE;
    int members = 0, leader = NONE, *task;

    for (int r = 0; r < b->job->n; r++)
        if (mtlm_layout_meet(mine, &b->job->program[r]->config.layout, group)) {
            leader = leader == NONE ? r : leader;
            members++;
        }
    task = find_task(&b->rank[leader].led[group], b->rank[b->at].met[group]++);
    if (*task == NONE) {
        *task = mtlm_simulator_task(b->sim, turn, ns,
                                    priority_of(b, item, iteration));
        b->missing += members - 1;
    } else {
        b->missing--;
        if (turn != NONE)
            mtlm_simulator_also(b->sim, *task, turn);
    }
    return *task;
}

/* The send sets the duration; the receive may come first. */
static int message_task(struct builder *b, const struct mtlm_item *item,
                        int iteration, int64_t use)
{
    const bool send = item->node->call.kind == MTLM_OP_SEND;
    const int peer = b->index[item->node->call.attr.p2p.peer];
    const int64_t n = item->node->call.attr.p2p.tag * (int64_t) b->uses + use;
    int *task;

    assert(peer != NONE && use < b->uses);
    task = find_task(&b->rank[send ? b->at : peer].sent, n);
    if (*task == NONE) {
        *task = mtlm_simulator_task(b->sim, NONE, 0, 0);
        b->missing++;
    } else {
        b->missing--;
    }
    if (send)
        mtlm_simulator_set_duration(b->sim, *task,
                                    duration_ns(b, item, iteration));
    return *task;
}

static int compute_task(struct builder *b, const struct mtlm_item *item,
                        int iteration)
{
    const enum mtlm_phase phase = item->node->phase;
    const int task = mtlm_simulator_task(b->sim, b->rank[b->at].workers,
                                         duration_ns(b, item, iteration),
                                         priority_of(b, item, iteration));

    if (phase > MTLM_PHASE_WEIGHT
        || (phase == MTLM_PHASE_BACKWARD && !b->job->leaves_backward))
        mtlm_simulator_keep(b->sim, task);
    return task;
}

/* Returns the number of the host that has program[r]. */
static int64_t host_of(const struct builder *b, int r)
{
    const int64_t devices = b->job->devices;

    return devices > 0
               ? mtlm_layout_rank(&b->job->program[r]->config.layout) / devices
               : 0;
}

/* Returns the lane of the disk of this rank's host. */
static int disk_of(struct builder *b)
{
    struct rank *rank = &b->rank[b->at];

    for (int r = 0; r < b->at && rank->disk == NONE; r++)
        if (host_of(b, r) == host_of(b, b->at))
            rank->disk = b->rank[r].disk;
    if (rank->disk == NONE)
        rank->disk = mtlm_simulator_lane(b->sim, 1);
    return rank->disk;
}

/* Loads and stores take no worker, but their turn at the disk. */
static int disk_task(struct builder *b, const struct mtlm_item *item,
                     int iteration)
{
    const int64_t ns = duration_ns(b, item, iteration);

    return mtlm_simulator_task(b->sim, ns > 0 ? disk_of(b) : NONE, ns,
                               -b->rank[b->at].posted++);
}

static int task_of(struct builder *b, const struct mtlm_item *item,
                   int iteration, int64_t use)
{
    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return collective_task(b, item, iteration);
    case MTLM_CLASS_P2P:
        return message_task(b, item, iteration, use);
    case MTLM_CLASS_DISK:
        return disk_task(b, item, iteration);
    default:
        return compute_task(b, item, iteration);
    }
}

/* Makes the task wait for the links before it if the item is a link. */
static void add_link(struct builder *b, const struct mtlm_item *item, int task)
{
    if (!b->job->chained || !b->job->chained(b->job->arg, b->program, item))
        return;
    if (b->link != NONE)
        mtlm_simulator_edge(b->sim, b->link, task, 0);
    b->link = task;
}

/* ---- what workers wait for: mtlm_policy_next() of mtlm/policy.h ---- */

static void add_message(struct builder *b, const struct mtlm_item *item,
                        int iteration, int task)
{
    const size_t before = b->n_awaited;

    b->awaited = mtlm_make_room(b->awaited, &b->n_awaited, task + 1,
                                sizeof(*b->awaited));
    for (size_t i = before; i < b->n_awaited; i++)
        b->awaited[i] = (struct awaited){0};
    b->awaited[task] = (struct awaited){item, iteration, NONE, NONE};
    b->mine =
        mtlm_make_room(b->mine, &b->mine_room, b->n_mine + 1, sizeof(*b->mine));
    b->mine[b->n_mine++] = task;
}

/* The task waits for a task before, perhaps for a message. */
static void follow_message(struct builder *b, const struct mtlm_item *item,
                           int iteration, int before, int task)
{
    struct awaited *m =
        (size_t) before < b->n_awaited ? &b->awaited[before] : NULL;
    int *next;

    if (!m || !m->item || m->iteration != iteration
        || m->item->microbatch != item->microbatch)
        return;
    next = m->item->node->phase == item->node->phase ? &m->same : &m->other;
    if (*next == NONE)
        *next = task;
}

/* Tells what workers of the rank wait for, and forgets its messages. */
static void await_next(struct builder *b)
{
    while (b->n_mine > 0) {
        struct awaited *m = &b->awaited[b->mine[--b->n_mine]];
        const int next = m->same != NONE ? m->same : m->other;

        if (next != NONE)
            mtlm_simulator_await(b->sim, next);
        m->item = NULL;
    }
}

static void add_item(struct builder *b, const struct mtlm_item *item,
                     int iteration)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_op *op = mtlm_ops[node->call.kind];
    const int64_t use =
        item->microbatch < 0
            ? iteration
            : iteration * b->program->config.microbatches + item->microbatch;
    const int task = task_of(b, item, iteration, use);
    const struct mtlm_submission at = {use, iteration, item->lane};
    const struct mtlm_predecessors before =
        mtlm_dependencies_add(b->dependencies, node, &at, task);
    struct mtlm_execution *run = b->run;
    int number = NONE;

    if (op->op_class == MTLM_CLASS_COLLECTIVE)
        number = b->collectives++;
    for (int i = 0; i < before.n; i++) {
        mtlm_simulator_edge(b->sim, before.task[i], task, 0);
        follow_message(b, item, iteration, before.task[i], task);
    }
    if (b->job->hold > 0 && op->op_class != MTLM_CLASS_COMPUTE
        && op->op_class != MTLM_CLASS_HOST)
        add_message(b, item, iteration, task);
    add_link(b, item, task);
    run->node =
        mtlm_make_room(run->node, &b->capacity, run->n + 1, sizeof(*run->node));
    run->node[run->n++] = (struct mtlm_executed){.node = node,
                                                 .item = item,
                                                 .program = b->at,
                                                 .iteration = iteration,
                                                 .microbatch = item->microbatch,
                                                 .use = use,
                                                 .collective = number,
                                                 .task = task};
}

static void add_rank(struct builder *b, int at)
{
    b->at = at;
    b->program = b->job->program[at];
    b->link = NONE;
    b->dependencies = mtlm_dependencies_create(b->program->graph);
    for (int e = 0; e < b->job->iterations; e++) {
        b->collectives = 0;
        for (int i = 0; i < b->program->train.n; i++)
            add_item(b, &b->program->train.item[i], e);
    }
    mtlm_dependencies_destroy(b->dependencies);
    await_next(b);
}

/* ---- the whole ---- */

static void prepare_ranks(struct builder *b)
{
    const struct mtlm_evaluate_program *job = b->job;
    const int ranks = mtlm_layout_ranks(&job->program[0]->config.layout);

    b->uses = job->iterations * job->program[0]->config.microbatches;
    b->rank = mtlm_calloc(job->n, sizeof(*b->rank));
    b->index = mtlm_calloc(ranks, sizeof(*b->index));
    for (int r = 0; r < ranks; r++)
        b->index[r] = NONE;
    for (int r = 0; r < job->n; r++) {
        const struct mtlm_layout *layout = &job->program[r]->config.layout;

        b->index[mtlm_layout_rank(layout)] = r;
        b->rank[r] = (struct rank){
            .workers = mtlm_simulator_lane(b->sim, layout->workers),
            .turn = {NONE, NONE, NONE, NONE, NONE},
            .disk = NONE,
            .led = mtlm_calloc(MTLM_GROUP_COUNT, sizeof(struct tasks)),
            .met = mtlm_calloc(MTLM_GROUP_COUNT, sizeof(int))};
        mtlm_simulator_hold(b->sim, b->rank[r].workers, job->hold);
    }
}

static void free_ranks(struct builder *b)
{
    for (int r = 0; r < b->job->n; r++) {
        free(b->rank[r].sent.task);
        for (int g = 0; g < MTLM_GROUP_COUNT; g++)
            free(b->rank[r].led[g].task);
        free(b->rank[r].led);
        free(b->rank[r].met);
    }
    free(b->rank);
    free(b->index);
    free(b->awaited);
    free(b->mine);
    mtlm_simulator_destroy(b->sim);
}

static int by_place(const void *a, const void *b)
{
    const struct mtlm_executed *x = a, *y = b;

    return x->place != y->place ? x->place - y->place : x->program - y->program;
}

void mtlm_execution_sort(struct mtlm_execution *run)
{
    qsort(run->node, run->n, sizeof(*run->node), by_place);
}

/* Sets the times and the place of each node, and sorts the nodes by place. */
static void note_times(const struct builder *b)
{
    struct mtlm_execution *run = b->run;
    int *place, tasks = 0;

    for (int i = 0; i < run->n; i++)
        tasks = run->node[i].task >= tasks ? run->node[i].task + 1 : tasks;
    place = mtlm_calloc(tasks, sizeof(*place));
    for (int i = 0; i < tasks; i++)
        place[mtlm_simulator_started(b->sim, i)] = i;
    for (int i = 0; i < run->n; i++) {
        struct mtlm_executed *e = &run->node[i];

        e->place = place[e->task];
        e->start_ns = mtlm_simulator_start(b->sim, e->task);
        e->end_ns = mtlm_simulator_end(b->sim, e->task);
    }
    mtlm_execution_sort(run);
    run->makespan_ns = mtlm_simulator_makespan(b->sim);
    free(place);
}

struct mtlm_execution mtlm_evaluate_program(
    const struct mtlm_evaluate_program *job)
{
    struct mtlm_execution run = {0};
    struct builder b = {
        .job = job, .sim = mtlm_simulator_create(), .run = &run};
    bool all;

    prepare_ranks(&b);
    for (int r = 0; r < job->n; r++)
        add_rank(&b, r);
    if (job->first_come)
        mtlm_simulator_first_come(b.sim);
    assert(b.missing == 0);
    all = mtlm_simulator_run(b.sim);
    assert(all);
    (void) all;
    note_times(&b);
    free_ranks(&b);
    return run;
}

void mtlm_execution_free(struct mtlm_execution *run)
{
    free(run->node);
    run->node = NULL;
}

int *mtlm_execution_collectives(const struct mtlm_execution *run, int program,
                                int iteration, int *n)
{
    int *order = mtlm_calloc(run->n, sizeof(*order));

    *n = 0;
    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *e = &run->node[i];

        if (e->collective >= 0 && e->program == program
            && e->iteration == iteration)
            order[(*n)++] = e->collective;
    }
    return order;
}
