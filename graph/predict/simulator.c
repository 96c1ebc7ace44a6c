/* List scheduling: a queue of ready tasks per lane, and events in order. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <mtlm/policy.h>

#include "graph/order/task_heap.h"
#include "graph/predict/simulator.h"
#include "graph/predict/task_edges.h"
#include "runtime/base/memory.h"

enum { NONE = -1 };

struct simulated_task {
    int64_t duration, priority, start, end;
    int64_t order; /* of equal priorities, the least goes first */
    int64_t ready; /* the earliest start that ended tasks allow */
    int waits_for; /* tasks that must end first */
    int lane;
    int *more, n_more; /* further lanes */
    int64_t coming;    /* the earliest start that expected tasks allow */
    int unexpected;    /* predecessors whose end is unknown */
    bool expected;     /* the end is known, or was estimated */
    bool kept;         /* no worker leaves the task for another one */
    bool awaited; /* workers wait for the task: it is next behind a message */
};

enum event {
    END,   /* the task ends */
    READY, /* the task becomes ready */
    LOOK,  /* no task: workers look for a task again */
};

struct lane {
    int free;                    /* tasks that the lane has room for */
    struct mtlm_task_heap ready; /* the most urgent task is first */
    double share; /* of a task's duration: how long a worker waits */
    /* Tasks that are not ready, behind expected tasks only. */
    int *coming, n_coming;
    size_t capacity;
    int64_t look; /* the earliest end of a wait that is an event to come */
};

/* A task whose end is known or expected; its successors are expected, too. */
struct expected_task {
    int64_t end;
    int number;
    int edge;   /* the next one */
    bool again; /* the end was known or expected before */
};

struct mtlm_simulator {
    struct simulated_task *task;
    int n;
    size_t capacity;
    struct mtlm_task_edges edges;
    struct lane *lane;
    int n_lanes;
    struct mtlm_task_heap events; /* the earliest event is first */
    int64_t n_events;             /* so far: events of one time in turn */
    int *started, n_started, n_ended;
    int *refused; /* scratch: ready tasks whose other lanes are full */
    struct expected_task *expected; /* scratch [n_expected]: each one follows at
                                     * once on the one before */
    int n_expected;
    size_t expected_capacity;
    int64_t now;
    bool holds; /* workers of a lane wait */
    bool first_come;
    int64_t pushed; /* ready tasks so far */
};

struct mtlm_simulator *mtlm_simulator_create(void)
{
    return mtlm_calloc(1, sizeof(struct mtlm_simulator));
}

void mtlm_simulator_destroy(struct mtlm_simulator *sim)
{
    if (!sim)
        return;
    for (int i = 0; i < sim->n_lanes; i++) {
        mtlm_task_heap_free(&sim->lane[i].ready);
        free(sim->lane[i].coming);
    }
    for (int i = 0; i < sim->n; i++)
        free(sim->task[i].more);
    free(sim->lane);
    free(sim->task);
    mtlm_task_edges_free(&sim->edges);
    mtlm_task_heap_free(&sim->events);
    free(sim->started);
    free(sim->refused);
    free(sim->expected);
    free(sim);
}

int mtlm_simulator_lane(struct mtlm_simulator *sim, int capacity)
{
    sim->lane = mtlm_realloc(sim->lane, sim->n_lanes + 1, sizeof(*sim->lane));
    sim->lane[sim->n_lanes] = (struct lane){.free = capacity};
    return sim->n_lanes++;
}

void mtlm_simulator_hold(struct mtlm_simulator *sim, int lane, double share)
{
    sim->lane[lane].share = share;
    sim->holds |= share > 0;
}

void mtlm_simulator_first_come(struct mtlm_simulator *sim)
{
    sim->first_come = true;
}

int64_t mtlm_simulator_ns(double seconds)
{
    return llround(fmin(1e9 * seconds, MTLM_SIMULATOR_LONGEST));
}

void mtlm_simulator_await(struct mtlm_simulator *sim, int task)
{
    sim->task[task].awaited = true;
}

void mtlm_simulator_keep(struct mtlm_simulator *sim, int task)
{
    sim->task[task].kept = true;
}

int mtlm_simulator_task(struct mtlm_simulator *sim, int lane, int64_t duration,
                        int64_t priority)
{
    assert(lane < sim->n_lanes && duration >= 0);
    sim->task = mtlm_make_room(sim->task, &sim->capacity, sim->n + 1,
                               sizeof(*sim->task));
    sim->task[sim->n] = (struct simulated_task){.duration = duration,
                                                .priority = priority,
                                                .order = sim->n,
                                                .lane = lane};
    return sim->n++;
}

void mtlm_simulator_set_duration(struct mtlm_simulator *sim, int task,
                                 int64_t duration)
{
    assert(duration >= 0);
    sim->task[task].duration = duration;
}

void mtlm_simulator_also(struct mtlm_simulator *sim, int task, int lane)
{
    struct simulated_task *t = &sim->task[task];

    assert(t->lane != NONE && lane >= 0 && lane < sim->n_lanes);
    t->more = mtlm_realloc(t->more, t->n_more + 1, sizeof(*t->more));
    t->more[t->n_more++] = lane;
}

void mtlm_simulator_edge(struct mtlm_simulator *sim, int before, int after,
                         int64_t delay)
{
    mtlm_task_edges_add(&sim->edges, before, after, delay);
    sim->task[after].waits_for++;
    sim->task[after].unexpected++;
}

/* ---- tasks that will soon be ready ---- */

static void add_coming(struct lane *lane, int task)
{
    lane->coming = mtlm_make_room(lane->coming, &lane->capacity,
                                  lane->n_coming + 1, sizeof(*lane->coming));
    lane->coming[lane->n_coming++] = task;
}

static void remove_coming(struct lane *lane, int task)
{
    int i = 0;

    while (i < lane->n_coming && lane->coming[i] != task)
        i++;
    if (i < lane->n_coming)
        lane->coming[i] = lane->coming[--lane->n_coming];
}

/* Whether the task is expected to start as soon as its predecessors have ended:
 * no worker waits for it, or it continues the pass of task `first`. */
static bool follows_at_once(const struct mtlm_simulator *sim, int number,
                            int first)
{
    const struct simulated_task *task = &sim->task[number];

    return task->lane == NONE || sim->lane[task->lane].share == 0
           || (task->lane == sim->task[first].lane
               && task->priority == sim->task[first].priority);
}

static void push_expected(struct mtlm_simulator *sim, int number, int64_t end)
{
    struct simulated_task *task = &sim->task[number];

    sim->expected = mtlm_make_room(sim->expected, &sim->expected_capacity,
                                   sim->n_expected + 1, sizeof(*sim->expected));
    sim->expected[sim->n_expected++] =
        (struct expected_task){.end = end,
                               .number = number,
                               .edge = sim->edges.first[number],
                               .again = task->expected};
    task->expected = true;
}

/* Follows the next edge of the last expected task.  Returns the successor if
 * that follows at once on tasks behind task `first`; else NONE. */
static int expect_next(struct mtlm_simulator *sim, int first)
{
    struct expected_task *e = &sim->expected[sim->n_expected - 1];
    const int64_t earliest =
        e->end + mtlm_task_edges_delay(&sim->edges, e->edge);
    const int next = sim->edges.after[e->edge++];
    struct simulated_task *after = &sim->task[next];

    if (after->coming < earliest)
        after->coming = earliest;
    if (e->again || --after->unexpected > 0)
        return NONE;
    if (after->lane != NONE && after->awaited)
        add_coming(&sim->lane[after->lane], next);
    return follows_at_once(sim, next, first) ? next : NONE;
}

/* The task has started.  A pass may have as many tasks as a program: no
 * recursion. */
static void expect_end(struct mtlm_simulator *sim, int number, int64_t end)
{
    push_expected(sim, number, end);
    while (sim->n_expected > 0) {
        const struct expected_task *e = &sim->expected[sim->n_expected - 1];

        if (e->edge < sim->edges.first[e->number + 1]) {
            const int next = expect_next(sim, number);

            if (next != NONE)
                push_expected(sim, next,
                              sim->task[next].coming
                                  + sim->task[next].duration);
        } else {
            sim->n_expected--;
        }
    }
}

/* Events of one time happen in the order in which they were added. */
static void add_event(struct mtlm_simulator *sim, int64_t time,
                      enum event event, int task)
{
    mtlm_task_heap_add(&sim->events, (struct mtlm_heap_task){
                                         time, sim->n_events++, task, event});
}

/* A wait of the lane's workers ends at `time`.  An earlier look to come asks
 * for this one again. */
static void look_again(struct mtlm_simulator *sim, struct lane *lane,
                       int64_t time)
{
    if (lane->look > sim->now && lane->look <= time)
        return;
    lane->look = time;
    add_event(sim, time, LOOK, NONE);
}

/* Returns the workers of the lane that wait for other tasks instead. */
static int waiting_workers(struct mtlm_simulator *sim, struct lane *lane,
                           int number)
{
    const struct simulated_task *task = &sim->task[number];
    const int64_t patience = lane->share * task->duration;
    int n = 0;

    if (task->kept)
        return 0;
    for (int i = 0; i < lane->n_coming; i++) {
        const struct simulated_task *other = &sim->task[lane->coming[i]];

        if (other->priority > task->priority
            && mtlm_policy_holds(sim->now, other->coming, patience)) {
            look_again(sim, lane, other->coming + patience);
            n++;
        }
    }
    return n;
}

/* ---- what happens ---- */

/* Returns the time so much later. */
static int64_t later(const struct mtlm_simulator *sim, int64_t by)
{
    return sim->now < MTLM_SIMULATOR_LONGEST ? sim->now + by : sim->now;
}

/* Adds n to the room of the task's lanes. */
static void free_lanes(struct mtlm_simulator *sim,
                       const struct simulated_task *task, int n)
{
    if (task->lane != NONE)
        sim->lane[task->lane].free += n;
    for (int i = 0; i < task->n_more; i++)
        sim->lane[task->more[i]].free += n;
}

static void start_task(struct mtlm_simulator *sim, int number)
{
    struct simulated_task *task = &sim->task[number];

    free_lanes(sim, task, -1);
    task->start = sim->now;
    task->end = later(sim, task->duration);
    sim->started[sim->n_started++] = number;
    add_event(sim, task->end, END, number);
    if (sim->holds)
        expect_end(sim, number, task->end);
}

/* Of equal priorities, the task of the least order goes first. */
static void push_ready(struct mtlm_simulator *sim, int number)
{
    const struct simulated_task *task = &sim->task[number];

    mtlm_task_heap_add(
        &sim->lane[task->lane].ready,
        (struct mtlm_heap_task){-task->priority, task->order, number, 0});
}

/* Called once all predecessors have ended. */
static void make_ready(struct mtlm_simulator *sim, int number)
{
    struct simulated_task *task = &sim->task[number];

    if (task->ready > sim->now) {
        add_event(sim, task->ready, READY, number);
    } else if (task->lane != NONE) {
        if (sim->first_come)
            task->order = sim->pushed++;
        remove_coming(&sim->lane[task->lane], number);
        push_ready(sim, number);
    } else {
        start_task(sim, number);
    }
}

static void end_task(struct mtlm_simulator *sim, int number)
{
    const struct mtlm_task_edges *edges = &sim->edges;

    free_lanes(sim, &sim->task[number], 1);
    sim->n_ended++;
    for (int i = edges->first[number]; i < edges->first[number + 1]; i++) {
        const int64_t earliest = later(sim, mtlm_task_edges_delay(edges, i));
        struct simulated_task *after = &sim->task[edges->after[i]];

        if (after->ready < earliest)
            after->ready = earliest;
        if (--after->waits_for == 0)
            make_ready(sim, edges->after[i]);
    }
}

static bool may_start(const struct mtlm_simulator *sim, int number)
{
    const struct simulated_task *task = &sim->task[number];

    for (int i = 0; i < task->n_more; i++)
        if (sim->lane[task->more[i]].free == 0)
            return false;
    return true;
}

/* Starts as many ready tasks as the lane has room for, most urgent first. */
static void start_ready(struct mtlm_simulator *sim, struct lane *lane)
{
    int refused = 0;

    while (lane->free > 0 && lane->ready.n > 0) {
        const int task = mtlm_task_heap_take(&lane->ready).task;

        if (may_start(sim, task)
            && lane->free > waiting_workers(sim, lane, task))
            start_task(sim, task);
        else
            sim->refused[refused++] = task;
    }
    while (refused > 0)
        push_ready(sim, sim->refused[--refused]);
}

/* Handles all events of the next point in time.  Returns false without any. */
static bool handle_next_events(struct mtlm_simulator *sim)
{
    struct mtlm_heap_task event;

    if (sim->events.n == 0)
        return false;
    sim->now = mtlm_task_heap_key(&sim->events);
    while (sim->events.n > 0 && mtlm_task_heap_key(&sim->events) == sim->now) {
        event = mtlm_task_heap_take(&sim->events);
        if (event.what == END)
            end_task(sim, event.task);
        else if (event.what == READY)
            make_ready(sim, event.task);
    }
    return true;
}

bool mtlm_simulator_run(struct mtlm_simulator *sim)
{
    int *first = mtlm_calloc(sim->n, sizeof(*first)), n_first = 0;

    assert(!sim->started);
    sim->started = mtlm_calloc(sim->n, sizeof(*sim->started));
    sim->refused = mtlm_calloc(sim->n, sizeof(*sim->refused));
    mtlm_task_edges_sort(&sim->edges, sim->n);
    for (int i = 0; i < sim->n; i++)
        if (sim->task[i].waits_for == 0)
            first[n_first++] = i;
    for (int i = 0; i < n_first; i++)
        make_ready(sim, first[i]);
    free(first);
    do
        for (int i = 0; i < sim->n_lanes; i++)
            start_ready(sim, &sim->lane[i]);
    while (handle_next_events(sim));
    return sim->n_ended == sim->n;
}

int64_t mtlm_simulator_start(const struct mtlm_simulator *sim, int task)
{
    return sim->task[task].start;
}

int64_t mtlm_simulator_end(const struct mtlm_simulator *sim, int task)
{
    return sim->task[task].end;
}

int mtlm_simulator_started(const struct mtlm_simulator *sim, int i)
{
    return sim->started[i];
}

int64_t mtlm_simulator_makespan(const struct mtlm_simulator *sim)
{
    int64_t last = 0;

    for (int i = 0; i < sim->n; i++)
        if (sim->task[i].end > last)
            last = sim->task[i].end;
    return last;
}
