#include "config.h"

#include <stdlib.h>

#include "runtime/memory.h"
#include "tests/graph/simulator.h"

enum { NONE = -1 };

struct task {
    int rank;
    int64_t duration, priority, start, end;
    int waits_for; /* tasks that must end first */
    int *next;     /* tasks that wait for this one */
    int n_next, capacity;
};

struct simulator {
    int ranks;
    struct task *task;
    int n, capacity;
    int *ready, n_ready; /* for workers, in no order */
    int *running;        /* [ranks] */
    int *started, n_started, n_ended;
    int64_t now;
};

struct simulator *simulator_create(int ranks)
{
    struct simulator *sim = mtlm_calloc(1, sizeof(*sim));

    sim->ranks = ranks;
    sim->running = mtlm_calloc(ranks, sizeof(*sim->running));
    for (int r = 0; r < ranks; r++)
        sim->running[r] = NONE;
    return sim;
}

void simulator_destroy(struct simulator *sim)
{
    for (int i = 0; i < sim->n; i++)
        free(sim->task[i].next);
    free(sim->task);
    free(sim->ready);
    free(sim->running);
    free(sim->started);
    free(sim);
}

int simulator_task(struct simulator *sim, int rank, int64_t duration,
                   int64_t priority)
{
    if (sim->n == sim->capacity) {
        sim->capacity = 2 * sim->capacity + 256;
        sim->task = mtlm_realloc(sim->task, sim->capacity, sizeof(*sim->task));
    }
    sim->task[sim->n] =
        (struct task){.rank = rank, .duration = duration, .priority = priority};
    return sim->n++;
}

void simulator_edge(struct simulator *sim, int before, int after)
{
    struct task *task = &sim->task[before];

    if (task->n_next == task->capacity) {
        task->capacity = 2 * task->capacity + 4;
        task->next =
            mtlm_realloc(task->next, task->capacity, sizeof(*task->next));
    }
    task->next[task->n_next++] = after;
    sim->task[after].waits_for++;
}

static void end(struct simulator *sim, int number);

/* Nothing is waited for any more. */
static void make_ready(struct simulator *sim, int number)
{
    struct task *task = &sim->task[number];

    if (task->rank != NONE) {
        sim->ready[sim->n_ready++] = number;
        return;
    }
    task->start = sim->now;
    sim->started[sim->n_started++] = number;
    end(sim, number);
}

static void end(struct simulator *sim, int number)
{
    const struct task *task = &sim->task[number];

    sim->task[number].end = sim->now;
    sim->n_ended++;
    for (int i = 0; i < task->n_next; i++)
        if (--sim->task[task->next[i]].waits_for == 0)
            make_ready(sim, task->next[i]);
}

static bool goes_first(const struct simulator *sim, int a, int b)
{
    const struct task *x = &sim->task[a], *y = &sim->task[b];

    return x->priority > y->priority || (x->priority == y->priority && a < b);
}

/* An idle worker takes the best task, if there is one. */
static void choose(struct simulator *sim, int rank)
{
    int best = NONE;
    struct task *task;

    for (int i = 0; i < sim->n_ready; i++)
        if (sim->task[sim->ready[i]].rank == rank
            && (best == NONE
                || goes_first(sim, sim->ready[i], sim->ready[best])))
            best = i;
    if (best == NONE)
        return;
    sim->running[rank] = sim->ready[best];
    sim->started[sim->n_started++] = sim->ready[best];
    sim->ready[best] = sim->ready[--sim->n_ready];
    task = &sim->task[sim->running[rank]];
    task->start = sim->now;
    task->end = sim->now + task->duration;
}

/* Ends everything that ends next; false: nothing runs. */
static bool advance(struct simulator *sim)
{
    int64_t next = INT64_MAX;

    for (int r = 0; r < sim->ranks; r++)
        if (sim->running[r] != NONE && sim->task[sim->running[r]].end < next)
            next = sim->task[sim->running[r]].end;
    if (next == INT64_MAX)
        return false;
    sim->now = next;
    for (int r = 0; r < sim->ranks; r++) {
        const int number = sim->running[r];

        if (number != NONE && sim->task[number].end == next) {
            sim->running[r] = NONE;
            end(sim, number);
        }
    }
    return true;
}

bool simulator_run(struct simulator *sim)
{
    const int n = sim->n;
    int *first = mtlm_calloc(n, sizeof(*first)), n_first = 0;

    sim->ready = mtlm_calloc(n, sizeof(*sim->ready));
    sim->started = mtlm_calloc(n, sizeof(*sim->started));
    for (int i = 0; i < n; i++)
        if (sim->task[i].waits_for == 0)
            first[n_first++] = i;
    for (int i = 0; i < n_first; i++)
        make_ready(sim, first[i]);
    free(first);
    do
        for (int r = 0; r < sim->ranks; r++)
            if (sim->running[r] == NONE)
                choose(sim, r);
    while (advance(sim));
    return sim->n_ended == n;
}

int64_t simulator_start(const struct simulator *sim, int task)
{
    return sim->task[task].start;
}

int64_t simulator_end(const struct simulator *sim, int task)
{
    return sim->task[task].end;
}

int simulator_started(const struct simulator *sim, int i)
{
    return sim->started[i];
}

int64_t simulator_makespan(const struct simulator *sim)
{
    int64_t last = 0;

    for (int i = 0; i < sim->n; i++)
        if (sim->task[i].end > last)
            last = sim->task[i].end;
    return last;
}
