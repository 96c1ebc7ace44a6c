#ifndef MTLM_MACHINE_H
#define MTLM_MACHINE_H

#include <stdbool.h>

#include "runtime/base/error.h"
#include "runtime/machine/epilogue.h"

/* The machine: starts and stops StarPU on the cores and the GPU of a rank. */

/* The scheduling policy unless STARPU_SCHED names another: one queue by
 * priority. */
#define MTLM_DEFAULT_POLICY "prio"

struct starpu_sched_policy;

struct mtlm_machine_config {
    int workers; /* CPU workers that compute; with a GPU: see below */
    /* The device that computes, as worker 0; -1: none.  One CPU worker then
     * runs what reads the host's state or has no CUDA kernel. */
    int gpu;
    double gpu_bytes; /* of the device, for StarPU */
    bool shared;      /* other ranks run on this host: do not bind workers to
                       * cores */
    /* Of this process.  StarPU's own trace (FxT) is called r<rank>_0, unless
     * STARPU_FXT_SUFFIX says otherwise. */
    int rank;
    bool messages; /* one more CPU worker, for messages that are tasks */
    /* The host must be one memory of StarPU: messages that are tasks and
     * offloaded state know one address of a value. */
    bool one_memory;
    struct mtlm_epilogue_wishes epilogues; /* of a GPU's matrix products */
    /* The program's own scheduling policies, ended by NULL; borrowed; NULL:
     * none. */
    struct starpu_sched_policy *const *policies;
};

/* Starts StarPU; the caller stops the machine.  Refuses an unknown policy, with
 * the list of known ones, and a GPU that StarPU has no room for.  Takes
 * StarPU's limits of submitted tasks out of the environment
 * (STARPU_LIMIT_MAX_SUBMITTED_TASKS, _MIN_): they could block a rank. */
int mtlm_machine_start(const struct mtlm_machine_config *config,
                       struct mtlm_error *err);

/* Returns config->epilogues of the start. */
const struct mtlm_epilogue_wishes *mtlm_machine_epilogues(void);

/* Returns the worker for messages; -1: none. */
int mtlm_machine_message_worker(void);

/* Keeps a task off the worker for messages.  worker >= 0: the task runs on the
 * CPU worker of this number among those that compute, if there is one; the
 * policy then hears of the task through its hooks and push_task_notify() only.
 * Called before its submission. */
struct starpu_task;
void mtlm_machine_restrict(struct starpu_task *task, int worker);

/* Counts messages that are tasks: 1 when one is handed over, -1 when one has
 * ended. */
void mtlm_machine_count_message(int change);

/* Whether a task that is no message runs, or could run.  Any thread, at any
 * time. */
bool mtlm_machine_busy(void);

/* Returns the name of the policy in force. */
const char *mtlm_machine_policy(void);

/* Returns the file of the library that the policy comes from; NULL: none. */
const char *mtlm_machine_policy_file(void);

/* Returns StarPU's version. */
const char *mtlm_machine_starpu_version(void);

/* Stops StarPU. */
void mtlm_machine_stop(void);

/* Returns the most CPU workers that compute; messages: a further one is for
 * messages. */
int mtlm_machine_most_workers(bool messages);

/* Sets *workers to the number in STARPU_NCPU or STARPU_NCPUS, and returns the
 * name of the variable; NULL: neither has a number. */
const char *mtlm_machine_wanted_workers(int *workers);

#endif /* MTLM_MACHINE_H */
