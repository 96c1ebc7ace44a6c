/* Prefers prio or mtlm. */

#include "config.h"

#include "launch/options/options_note.h"
#include "launch/plan/policy_prefer.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

/* The share of prio's seconds that mtlm takes at most. */
static const double worth = 0.995;

bool mtlm_policy_prefer_gains(struct mtlm_policy_seconds prio,
                              struct mtlm_policy_seconds mtlm)
{
    return mtlm.given <= worth * prio.given && mtlm.late <= worth * prio.late;
}

bool mtlm_policy_prefer(struct mtlm_options *options,
                        struct mtlm_policy_seconds prio,
                        struct mtlm_policy_seconds mtlm)
{
    const bool waits = mtlm_policy_prefer_gains(prio, mtlm);

    mtlm_plugin_prefer(waits ? MTLM_HOLD_POLICY : MTLM_DEFAULT_POLICY);
    if (waits)
        mtlm_options_note(options,
                          "policy mtlm: workers wait for messages, %.2f %% "
                          "less time by evaluation; STARPU_SCHED=prio keeps "
                          "prio",
                          100 * (1 - mtlm.given / prio.given));
    return waits;
}
