#ifndef MTLM_GRAPH_SIMULATOR_H
#define MTLM_GRAPH_SIMULATOR_H

/* List scheduling like StarPU's policy "prio": an idle worker takes the ready
 * task with the highest priority.  Among equals, the worker takes the task
 * added first, or the one that became ready first.  Times are integers of any
 * unit; the first task starts at 0.  From MTLM_SIMULATOR_LONGEST on, time
 * stands still, and no sum overflows. */

#include <stdbool.h>
#include <stdint.h>

/* In nanoseconds, 10^7 seconds. */
#define MTLM_SIMULATOR_LONGEST INT64_C(10000000000000000)

/* Returns the nanoseconds of a duration, at most MTLM_SIMULATOR_LONGEST. */
int64_t mtlm_simulator_ns(double seconds);

struct mtlm_simulator;

/* Returns an empty simulator.  The caller frees the simulator with
 * mtlm_simulator_destroy(). */
struct mtlm_simulator *mtlm_simulator_create(void);

/* Frees the simulator; NULL is allowed. */
void mtlm_simulator_destroy(struct mtlm_simulator *sim);

/* Adds a lane, which runs up to `capacity` tasks at a time: the workers of a
 * rank, or a stream (capacity 1).  Returns the lane's number, from 0. */
int mtlm_simulator_lane(struct mtlm_simulator *sim, int capacity);

/* Makes free workers of a lane wait for tasks of higher priority that will soon
 * be ready: the hold rule, mtlm_policy_holds() of mtlm/policy.h.  A worker
 * waits at most `share` of the duration of the task that it leaves.  0: none
 * waits.
 *
 * A task will soon be ready when all its predecessors have started.  A
 * predecessor without a lane counts as started with its own predecessors.  So
 * does a predecessor that continues, on the same lane and with the same
 * priority, a task that has started.  Call before mtlm_simulator_run(). */
void mtlm_simulator_hold(struct mtlm_simulator *sim, int lane, double share);

/* Lets workers wait for the task, which is the next one behind a message.  They
 * wait for no other task.  Call before mtlm_simulator_run(). */
void mtlm_simulator_await(struct mtlm_simulator *sim, int task);

/* Among ready tasks of equal priority, the one that became ready first starts
 * first, as with StarPU's "prio".  Call before mtlm_simulator_run(). */
void mtlm_simulator_first_come(struct mtlm_simulator *sim);

/* Exempts a ready task from the hold rule: no worker leaves the task for
 * another one.  Call before mtlm_simulator_run(). */
void mtlm_simulator_keep(struct mtlm_simulator *sim, int task);

/* Adds a task and returns the task's number, from 0.  lane -1: the task starts
 * as soon as its predecessors have ended. */
int mtlm_simulator_task(struct mtlm_simulator *sim, int lane, int64_t duration,
                        int64_t priority);

/* Replaces the task's duration.  Call before mtlm_simulator_run(). */
void mtlm_simulator_set_duration(struct mtlm_simulator *sim, int task,
                                 int64_t duration);

/* Makes a task that has a lane occupy one more lane.  May be called again for
 * further lanes. */
void mtlm_simulator_also(struct mtlm_simulator *sim, int task, int lane);

/* Adds an edge: `after` starts no earlier than `delay` after the end of
 * `before`. */
void mtlm_simulator_edge(struct mtlm_simulator *sim, int before, int after,
                         int64_t delay);

/* Simulates all tasks.  Call once.  Returns false if tasks wait for each
 * other. */
bool mtlm_simulator_run(struct mtlm_simulator *sim);

/* Returns the start of the task. */
int64_t mtlm_simulator_start(const struct mtlm_simulator *sim, int task);

/* Returns the end of the task. */
int64_t mtlm_simulator_end(const struct mtlm_simulator *sim, int task);

/* Returns the i-th task, from 0, in order of starts; predecessors come
 * first. */
int mtlm_simulator_started(const struct mtlm_simulator *sim, int i);

/* Returns the end of the task that ends last. */
int64_t mtlm_simulator_makespan(const struct mtlm_simulator *sim);

#endif /* MTLM_GRAPH_SIMULATOR_H */
