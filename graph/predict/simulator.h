#ifndef MTLM_GRAPH_SIMULATOR_H
#define MTLM_GRAPH_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

/* List scheduling, as StarPU's policy "prio" does it: whenever a worker is
 * idle it takes the ready task of the highest priority, the one added first
 * among equals.  Times are integers of any unit; the first task starts at 0.
 * Nothing here knows what the tasks are. */
struct mtlm_simulator;

struct mtlm_simulator *mtlm_simulator_create(void);
void mtlm_simulator_destroy(struct mtlm_simulator *sim);

/* Adds a lane, which runs up to capacity tasks at a time: the workers of a
 * rank, or (1) what passes one by one.  Returns its number, from 0. */
int mtlm_simulator_lane(struct mtlm_simulator *sim, int capacity);

/* Adds a task and returns its number, from 0.  lane -1: it takes no lane and
 * starts as soon as nothing is before it. */
int mtlm_simulator_task(struct mtlm_simulator *sim, int lane, int64_t duration,
                        int64_t priority);

/* Before the run: it is that instead. */
void mtlm_simulator_set_duration(struct mtlm_simulator *sim, int task,
                                 int64_t duration);

/* The task, which has a lane, takes this one too, at the same time. */
void mtlm_simulator_also(struct mtlm_simulator *sim, int task, int lane);

/* after starts no earlier than delay after the end of before. */
void mtlm_simulator_edge(struct mtlm_simulator *sim, int before, int after,
                         int64_t delay);

/* What else decides whether a ready task may start, such as memory: asked
 * whenever a lane is free and no task of higher priority may start on it;
 * told of every start and end, in order. */
struct mtlm_simulator_rule {
    bool (*admits)(void *arg, int task);
    void (*started)(void *arg, int task);
    void (*ended)(void *arg, int task);
    void *arg;
};

void mtlm_simulator_set_rule(struct mtlm_simulator *sim,
                             const struct mtlm_simulator_rule *rule);

/* Runs everything, once; false if tasks are left that wait for each other or
 * that the rule does not admit. */
bool mtlm_simulator_run(struct mtlm_simulator *sim);

int64_t mtlm_simulator_start(const struct mtlm_simulator *sim, int task);
int64_t mtlm_simulator_end(const struct mtlm_simulator *sim, int task);
/* The i-th task that started, in an order that respects the edges. */
int mtlm_simulator_started(const struct mtlm_simulator *sim, int i);
/* The last end. */
int64_t mtlm_simulator_makespan(const struct mtlm_simulator *sim);

#endif /* MTLM_GRAPH_SIMULATOR_H */
