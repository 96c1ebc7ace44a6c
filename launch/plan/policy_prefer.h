#ifndef MTLM_POLICY_PREFER_H
#define MTLM_POLICY_PREFER_H

/* The better one of two scheduling policies, by the seconds of their plans. */

#include <stdbool.h>

#include "launch/options/options.h"

/* Seconds of an iteration, by evaluation. */
struct mtlm_policy_seconds {
    double given; /* messages as given */
    double late;  /* behind late messages (graph/predict/late.h); 0: unknown */
};

/* Returns whether mtlm's plan is shorter than prio's by 0.5 %, behind late
 * messages, too. */
bool mtlm_policy_prefer_gains(struct mtlm_policy_seconds prio,
                              struct mtlm_policy_seconds mtlm);

/* Prefers mtlm (mtlm_plugin_prefer()) if its plan gains, and notes that; else
 * prefers prio.  Returns whether mtlm is preferred. */
bool mtlm_policy_prefer(struct mtlm_options *options,
                        struct mtlm_policy_seconds prio,
                        struct mtlm_policy_seconds mtlm);

#endif /* MTLM_POLICY_PREFER_H */
