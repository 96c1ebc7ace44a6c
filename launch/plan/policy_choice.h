#ifndef MTLM_POLICY_CHOICE_H
#define MTLM_POLICY_CHOICE_H

/* The scheduling policy where the environment names none. */

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Takes the layout, as mtlm_layout_choice_take(), and prefers a policy
 * (runtime/machine/plugin.h).  Where the times of the stages are known, settles
 * the schedule under prio and under mtlm, whose workers wait for messages.  The
 * policy is the one of the better plan (launch/plan/policy_prefer.h), by
 * programs on a modelled machine.  On real machines, keeps prio for GPUs
 * and tensor parallelism.  Keeps prio for two versions of the weights, and for
 * pipelines too large to evaluate. */
int mtlm_policy_choice_take(struct mtlm_options *options,
                            struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            const struct mtlm_choice *choice,
                            struct mtlm_error *err);

#endif /* MTLM_POLICY_CHOICE_H */
