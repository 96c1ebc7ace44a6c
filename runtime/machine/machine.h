#ifndef MTLM_MACHINE_H
#define MTLM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/machine/epilogue.h"

/* Starting and stopping StarPU. */

/* Policy used unless STARPU_SCHED names another: one queue by priority. */
#define MTLM_DEFAULT_POLICY "prio"

struct starpu_sched_policy;

struct mtlm_machine_config {
    int workers; /* CPUs that compute, where no GPU does */
    /* Device that computes: worker 0.  One CPU worker does the rest then: what
     * reads the host's state, what has no CUDA kernel.  -1: none. */
    int gpu;
    double gpu_bytes; /* that StarPU may take of it */
    bool shared; /* other ranks run on this host: workers must not be bound to
                  * the same cores */
    /* Of this process; StarPU's own trace (FxT), if it writes one, is
     * r<rank>_0, unless STARPU_FXT_SUFFIX says otherwise. */
    int rank;
    bool messages; /* one CPU worker more, for messages that are tasks */
    struct mtlm_epilogue_wishes epilogues; /* of a GPU's products */
    /* The program's own scheduling policies, ended by NULL; borrowed; NULL:
     * none. */
    struct starpu_sched_policy *const *policies;
};

/* Starts StarPU.  A policy that does not exist is refused with the list of
 * those that do. */
int mtlm_machine_start(const struct mtlm_machine_config *config,
                       struct mtlm_error *err);

/* What it was started with. */
const struct mtlm_epilogue_wishes *mtlm_machine_epilogues(void);

/* The worker for messages, or -1. */
int mtlm_machine_message_worker(void);

/* Keeps the task, not submitted yet, off that worker. */
struct starpu_task;
void mtlm_machine_restrict(struct starpu_task *task);

/* A message that is a task is handed over (1), or has ended (-1). */
void mtlm_machine_count_message(int change);

/* Whether a task that is no message runs or could run now.  Any thread may
 * ask, at any time. */
bool mtlm_machine_busy(void);

/* Name of the policy in force; the file of the library that it is of, or NULL;
 * version of StarPU. */
const char *mtlm_machine_policy(void);
const char *mtlm_machine_policy_file(void);
const char *mtlm_machine_starpu_version(void);

void mtlm_machine_stop(void);

/* Workers that STARPU_NCPU asks for, or otherwise. */
int mtlm_machine_wanted_workers(int otherwise);

#endif /* MTLM_MACHINE_H */
