/* Evaluates a simulated iteration in the modes that a user might prefer. */

#include "config.h"

#include <string.h>

#include "graph/build/order_build.h"
#include "graph/order/published.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/hold.h"
#include "graph/predict/limits.h"
#include "launch/options/options_schedule.h"
#include "launch/plan/order_fit.h"
#include "launch/plan/plan_modes.h"
#include "launch/plan/policy_prefer.h"
#include "launch/simulate/shorter.h"
#include "runtime/machine/plugin.h"

/* Whether other ways can be evaluated, within the time of the first one. */
static bool has_others(const struct mtlm_folded_run *run,
                       const struct mtlm_options *options)
{
    const struct mtlm_program_config *config =
        &run->programs.program[0]->config;

    return config->layout.pp > 1
           && config->schedule->sizing != MTLM_SIZING_SEARCH
           && options->simulate_engine == MTLM_ENGINE_EVALUATOR
           && !mtlm_folded_run_chains(run) && !mtlm_program_is_chained(config)
           && !run->programs.draws.noise && run->execution.n <= MTLM_MANY_NODES;
}

/* Whether the seconds are less than those of the run by 0.5 %. */
static bool gains(const struct mtlm_folded_run *run, double seconds)
{
    const double given_s = 1e-9 * run->execution.makespan_ns;

    return mtlm_policy_prefer_gains((struct mtlm_policy_seconds){given_s, 0},
                                    (struct mtlm_policy_seconds){seconds, 0});
}

/* Returns the seconds of config under a policy; 0: config needs more memory
 * than available, or is not shorter. */
static double shorter_seconds(const struct mtlm_folded_run *given,
                              const struct mtlm_options *options,
                              const struct mtlm_program_config *config,
                              const char *policy, double available)
{
    struct mtlm_folded_run run = mtlm_folded_run_create(config, given->cluster);
    double seconds = 0;

    run.policy = policy;
    if (mtlm_folded_run_memory(&run) <= available) {
        mtlm_folded_run_evaluate(&run, options->transport == MTLM_USE_SERIAL);
        seconds = 1e-9 * run.execution.makespan_ns;
    }
    mtlm_folded_run_free(&run);
    return gains(given, seconds) ? seconds : 0;
}

/* Returns the seconds of the published order as a chain; 0: there is none, a
 * run would refuse it, or it is not shorter. */
static double strict_seconds(const struct mtlm_folded_run *run,
                             const struct mtlm_options *options,
                             double available)
{
    struct mtlm_program_config config = run->programs.program[0]->config;
    const struct mtlm_published *published =
        mtlm_published_find(config.schedule->name);
    const struct mtlm_boxes boxes = mtlm_program_boxes(&config);
    struct mtlm_plan_mode mode[MTLM_PLAN_MODES];
    struct mtlm_error ignored;
    struct mtlm_box_order order;
    double seconds = 0;

    if (!published || options->schedule_file
        || mtlm_published_lacks(published, &boxes))
        return 0;
    mtlm_activation_memory_measure(&config);
    order = mtlm_order_build(published, &config);
    config.order = &order;
    if ((config.act_mem <= 0
         || mtlm_order_fit_act_mem(options, &config, &ignored) == 0)
        && mtlm_plan_modes_list(&config, NULL, mode) > 0
        && mode[0].config.follow == MTLM_FOLLOW_STRICT)
        seconds = shorter_seconds(run, options, &mode[0].config, run->policy,
                                  available);
    mtlm_order_free(&order);
    mtlm_activation_memory_free(&config.activation);
    return seconds;
}

/* Returns the seconds of the run where workers wait.  A usual share tells fast
 * whether a wait helps; the choice of the best one takes ten times as long. */
static double wait_seconds(struct mtlm_folded_run *run,
                           const struct mtlm_options *options, double available)
{
    const struct mtlm_program_config *config =
        &run->programs.program[0]->config;

    if (strcmp(run->policy, MTLM_HOLD_POLICY) == 0 || !mtlm_plugin_may_hold()
        || !gains(run, mtlm_pipeline_programs_makespan(&run->programs,
                                                       mtlm_hold_searched())))
        return 0;
    return shorter_seconds(run, options, config, MTLM_HOLD_POLICY, available);
}

struct mtlm_shorter mtlm_shorter_find(struct mtlm_folded_run *run,
                                      const struct mtlm_options *options,
                                      double available)
{
    struct mtlm_shorter shorter = {.given_s =
                                       1e-9 * run->execution.makespan_ns};

    if (!has_others(run, options))
        return shorter;
    shorter.strict_s = strict_seconds(run, options, available);
    shorter.wait_s = wait_seconds(run, options, available);
    return shorter;
}

static void print_way(const struct mtlm_shorter *shorter, double seconds,
                      const char *head, const char *way, FILE *out)
{
    fprintf(out, "%-16s %.6g s, %.1f %% less: %s\n", head, seconds,
            100 - 100 * seconds / shorter->given_s, way);
}

void mtlm_shorter_print(const struct mtlm_shorter *shorter, FILE *out)
{
    if (shorter->strict_s > 0)
        print_way(shorter, shorter->strict_s, "shorter",
                  "--schedule-mode strict", out);
    if (shorter->wait_s > 0)
        print_way(shorter, shorter->wait_s,
                  shorter->strict_s > 0 ? "" : "shorter", "STARPU_SCHED=mtlm",
                  out);
}
