/* --replan-after: which options contradict. */

#include "config.h"

#include <inttypes.h>

#include "launch/options/options_recipe.h"
#include "launch/options/options_replan.h"
#include "launch/options/options_simulate.h"

int mtlm_options_replan_check(const struct mtlm_options *options,
                              struct mtlm_error *err)
{
    const struct mtlm_options *o = options;
    char length[MTLM_OPTIONS_RECIPE_LENGTH];

    if (o->replan_after == 0)
        return 0;
    /* A configuration file may hold options that take no effect. */
    if (mtlm_options_simulate_or_plan(o))
        return mtlm_options_source(o, MTLM_OPT_REPLAN_AFTER)
                       < MTLM_SOURCE_COMMAND_LINE
                   ? 0
                   : mtlm_error_set(err, MTLM_EXIT_USAGE,
                                    "--replan-after measures iterations, and "
                                    "--%s runs none",
                                    o->simulate_file ? "simulate" : "dry-run");
    if (o->schedule_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--replan-after makes a plan from measured "
                              "times, and --schedule-file gives the plan");
    /* A configuration file may serve a shorter run. */
    if (mtlm_options_source(o, MTLM_OPT_REPLAN_AFTER)
            == MTLM_SOURCE_COMMAND_LINE
        && mtlm_options_recipe_has_length(o)
        && o->replan_after >= o->train_iters)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--replan-after %" PRId64 " is not less than %s",
                              o->replan_after,
                              mtlm_options_recipe_length(o, length));
    return 0;
}
