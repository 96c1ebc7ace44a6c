#ifndef MTLM_TESTS_SIMULATOR_H
#define MTLM_TESTS_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

/* List scheduling, as StarPU's policy "prio" does it: whenever a rank's one
 * worker is idle it takes the ready task of the highest priority, the one
 * added first among equals.  Times are integers. */
struct simulator;

struct simulator *simulator_create(int ranks);
void simulator_destroy(struct simulator *sim);

/* Returns the task's number.  rank -1: needs no worker and no time. */
int simulator_task(struct simulator *sim, int rank, int64_t duration,
                   int64_t priority);

/* before ends before after starts. */
void simulator_edge(struct simulator *sim, int before, int after);

/* Runs everything; false if tasks are left that wait for each other. */
bool simulator_run(struct simulator *sim);

int64_t simulator_start(const struct simulator *sim, int task);
int64_t simulator_end(const struct simulator *sim, int task);
/* The i-th task that started. */
int simulator_started(const struct simulator *sim, int i);
/* The last end; the first task starts at 0. */
int64_t simulator_makespan(const struct simulator *sim);

#endif /* MTLM_TESTS_SIMULATOR_H */
