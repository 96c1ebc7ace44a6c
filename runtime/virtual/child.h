#ifndef MTLM_VIRTUAL_CHILD_H
#define MTLM_VIRTUAL_CHILD_H

/* Runs a job in mtlm-dag-sim, a process of its own: SimGrid needs its machine
 * before main(), ends a deadlock with exit code 0, and may loop in a crash. */

#include "runtime/virtual/job.h"
#include "runtime/virtual/times.h"

struct mtlm_virtual_config {
    /* Path of mtlm-dag-sim; NULL: beside this program, or where make install
     * puts it. */
    const char *program;
    double patience_s; /* without progress the process is ended; 0: 120 */
    /* Called now and then with the tasks that have ended; NULL: nobody asks. */
    void (*progress)(void *arg, int64_t ended, int64_t all);
    void (*clear)(void); /* takes away what progress() shows; NULL: nothing */
    void *arg;
};

/* Times of a finished job. */
struct mtlm_virtual_result {
    struct mtlm_virtual_time *task; /* [job->n_tasks] */
    char policy[64];                /* that chose the order */
};

/* Time without progress. */
struct mtlm_virtual_idle {
    int64_t done;      /* what was done at the last look */
    int64_t looked_ns; /* when that was */
    int64_t waited_ns; /* since the last progress */
};

/* Looks at what is done now.  Returns how long nothing was done, in ns.  A
 * distance between two looks counts as a second at most: the terminal may have
 * stopped both processes meanwhile. */
int64_t mtlm_virtual_idle_look(struct mtlm_virtual_idle *idle, int64_t done,
                               int64_t now_ns);

/* Returns 0 if there is an mtlm-dag-sim, beside this program or where make
 * install puts it; else -1 and MTLM_EXIT_USAGE, or MTLM_EXIT_IO if this user
 * may not start it. */
int mtlm_virtual_check(struct mtlm_error *err);

/* Runs the job under the policy of STARPU_SCHED and STARPU_SCHED_LIB.  The
 * caller frees result->task.  After a good run, what the policy printed goes to
 * standard error.
 *
 * MTLM_EXIT_USAGE: no mtlm-dag-sim, no such policy, a policy that makes a
 * mistake.  MTLM_EXIT_IO: this user may not start mtlm-dag-sim, or a file could
 * not be written.  MTLM_EXIT_PEER: tasks never ran, or the process died or made
 * no progress; the error names a task that waits. */
int mtlm_virtual_run(const struct mtlm_virtual_job *job,
                     const struct mtlm_virtual_config *config,
                     struct mtlm_virtual_result *result,
                     struct mtlm_error *err);

#endif /* MTLM_VIRTUAL_CHILD_H */
