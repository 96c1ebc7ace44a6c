/* Simulates a job in the ways that a user might prefer. */

#include "config.h"

#include "graph/order/published.h"
#include "graph/predict/hold.h"
#include "graph/predict/limits.h"
#include "launch/options/options_schedule.h"
#include "launch/plan/policy_prefer.h"
#include "launch/plan/settled_options.h"
#include "launch/simulate/shorter.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

/* Whether there may be other ways, within the time of the first one. */
static bool has_others(const struct mtlm_folded_run *run,
                       const struct mtlm_options *options)
{
    const struct mtlm_program_config *config =
        &run->programs.program[0]->config;

    return config->layout.pp > 1
           && mtlm_options_schedule(options)->sizing != MTLM_SIZING_SEARCH
           && options->simulate_engine == MTLM_ENGINE_EVALUATOR
           && !options->profile && !mtlm_program_is_chained(config)
           && !run->programs.draws.noise && run->execution.n <= MTLM_MANY_NODES;
}

/* Whether the seconds are less than those of the run by 0.5 %. */
static bool gains(const struct mtlm_folded_run *run, double seconds)
{
    const double given_s = 1e-9 * run->execution.makespan_ns;

    return mtlm_policy_prefer_gains((struct mtlm_policy_seconds){given_s, 0},
                                    (struct mtlm_policy_seconds){seconds, 0});
}

/* Returns the seconds of the job with these options, which are settled in a
 * copy; 0: the job is refused, or not shorter than the run. */
static double shorter_seconds(const struct mtlm_folded_run *run,
                              const struct mtlm_options *options,
                              mtlm_simulate_function *simulate)
{
    struct mtlm_options copy = *options;
    struct mtlm_error refusal;
    double seconds = 0;

    copy.notes = NULL;
    if (simulate(&copy, run->cluster, &seconds, &refusal) < 0
        || !gains(run, seconds))
        seconds = 0;
    mtlm_settled_options_free(&copy, options);
    return seconds;
}

static double strict_seconds(const struct mtlm_folded_run *run,
                             const struct mtlm_options *before,
                             mtlm_simulate_function *simulate)
{
    const struct mtlm_program_config *config =
        &run->programs.program[0]->config;
    struct mtlm_options strict = *before;

    if (!mtlm_published_find(config->schedule->name) || before->schedule_file)
        return 0;
    strict.schedule_mode = MTLM_FOLLOW_STRICT;
    strict.source[MTLM_OPT_SCHEDULE_MODE] = MTLM_SOURCE_COMMAND_LINE;
    return shorter_seconds(run, &strict, simulate);
}

/* A usual share tells fast whether a wait helps: the choice of the best one
 * takes ten times as long. */
static double wait_seconds(struct mtlm_folded_run *run,
                           const struct mtlm_options *before,
                           mtlm_simulate_function *simulate)
{
    double seconds;

    if (!mtlm_plugin_is_free()
        || !gains(run, mtlm_pipeline_programs_makespan(&run->programs,
                                                       mtlm_hold_searched())))
        return 0;
    mtlm_plugin_prefer(MTLM_HOLD_POLICY);
    seconds = shorter_seconds(run, before, simulate);
    mtlm_plugin_prefer(MTLM_DEFAULT_POLICY);
    return seconds;
}

struct mtlm_shorter mtlm_shorter_find(struct mtlm_folded_run *run,
                                      const struct mtlm_options *before,
                                      mtlm_simulate_function *simulate)
{
    struct mtlm_shorter shorter = {.given_s =
                                       1e-9 * run->execution.makespan_ns};

    if (!has_others(run, before))
        return shorter;
    shorter.strict_s = strict_seconds(run, before, simulate);
    shorter.wait_s = wait_seconds(run, before, simulate);
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
