#ifndef MTLM_VIRTUAL_SIM_NODES_H
#define MTLM_VIRTUAL_SIM_NODES_H

/* Tells scheduling policies of the nodes of a simulated job
 * (runtime/comm/policy_nodes.h), if a policy watches nodes. */

#include "runtime/virtual/job.h"

/* Starts with the job, which is borrowed.  Call while StarPU runs. */
void mtlm_virtual_sim_nodes_start(const struct mtlm_virtual_job *job);

/* Frees what the functions below keep. */
void mtlm_virtual_sim_nodes_stop(void);

/* Adds the nodes of a task before the task's submission. */
void mtlm_virtual_sim_nodes_add(int64_t task);

/* All nodes are there, and no task has started: messages that wait for nothing
 * are ready. */
void mtlm_virtual_sim_nodes_begin(void);

/* A task starts; has ended, before StarPU starts tasks that wait for it. */
void mtlm_virtual_sim_nodes_started(int64_t task);
void mtlm_virtual_sim_nodes_ended(int64_t task);

/* Returns the first node of a task; NULL: no policy watches. */
const struct mtlm_policy_node *mtlm_virtual_sim_nodes_of(int64_t task);

#endif /* MTLM_VIRTUAL_SIM_NODES_H */
