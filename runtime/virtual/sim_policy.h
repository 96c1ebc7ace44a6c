#ifndef MTLM_VIRTUAL_SIM_POLICY_H
#define MTLM_VIRTUAL_SIM_POLICY_H

/* The functions of mtlm/policy.h that need virtual time: clock, ranks of
 * workers, and calls of pop_task() without a new task. */

/* Sets the ranks and the workers of each rank.  Call before starpu_init(). */
void mtlm_virtual_sim_policy_ranks(int ranks, int workers_per_rank);

/* Makes the clock of policies advance by 1 / stretch of SimGrid's.  Call before
 * starpu_init(). */
void mtlm_virtual_sim_policy_stretch(double stretch);

/* Forgets all calls of mtlm_policy_ask_again(): no worker is woken from here
 * on.  Call before starpu_shutdown(). */
void mtlm_virtual_sim_policy_end(void);

#endif /* MTLM_VIRTUAL_SIM_POLICY_H */
