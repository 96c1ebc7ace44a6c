/* Compares the plan under prio with the plan under mtlm. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/predict/activation_memory.h"
#include "graph/predict/hold.h"
#include "graph/predict/late.h"
#include "graph/predict/limits.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/search_limit.h"
#include "graph/predict/work.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/policy_choice.h"
#include "launch/plan/policy_prefer.h"
#include "launch/plan/settled_options.h"
#include "runtime/base/memory.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

/* A schedule that is settled under a policy. */
struct settled {
    struct mtlm_options options;
    struct mtlm_wish wish;
};

/* Whether a plan can be compared with another one. */
static bool is_comparable(const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts,
                          const struct mtlm_choice *choice)
{
    const struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    const struct mtlm_boxes boxes = mtlm_program_boxes(&config);
    const bool modelled = wish->machine.cluster;

    return mtlm_plugin_is_free() && (config.times || modelled)
           && ((hosts->gpus == 0 && config.layout.tp == 1) || modelled)
           && config.layout.pp > 1
           && config.layout.placement != MTLM_PLACEMENT_POLICY
           && !config.eval_only && config.weight_staleness == 0
           && mtlm_boxes_count(&boxes) <= MTLM_SEARCH_LIMIT_BOXES
           && (!modelled
               || config.microbatches * mtlm_pipeline_programs_nodes(&config)
                      <= MTLM_MANY_NODES);
}

/* ---- evaluation, under the policy in force ---- */

static bool workers_wait(const struct mtlm_program_config *config)
{
    return mtlm_plugin_holds() && !mtlm_program_is_chained(config);
}

/* Of struct mtlm_evaluate. */
static double evaluate_stages(void *arg, double more)
{
    const struct mtlm_evaluate late = mtlm_late_pipeline(arg, more);

    return mtlm_evaluate_seconds(&late);
}

static struct mtlm_policy_seconds seconds_of_stages(
    const struct mtlm_program_config *config)
{
    struct mtlm_work work = mtlm_work_create(config);
    struct mtlm_evaluate *p = &work.pipeline;
    struct mtlm_policy_seconds seconds;

    if (workers_wait(config))
        p->hold = mtlm_hold_choose(p, NULL);
    seconds = (struct mtlm_policy_seconds){
        evaluate_stages(p, 0),
        mtlm_late_seconds(evaluate_stages, p,
                          mtlm_evaluate_shortest_forward(p))};
    mtlm_work_free(&work);
    return seconds;
}

/* The programs of a pipeline, whose workers wait for this share of a task. */
struct shared_programs {
    struct mtlm_pipeline_programs programs;
    double share;
};

static double evaluate_programs(void *arg, double more)
{
    struct shared_programs *p = arg;

    p->programs.more_s = more;
    return mtlm_pipeline_programs_makespan(&p->programs, p->share);
}

static struct mtlm_policy_seconds seconds_of_programs(
    const struct mtlm_program_config *config,
    const struct mtlm_stage_cost *machine)
{
    struct shared_programs p = {
        .programs = mtlm_pipeline_programs_create(config, machine->cluster)};
    struct mtlm_policy_seconds seconds;

    if (workers_wait(config))
        p.share = mtlm_hold_choose_program(config, machine);
    mtlm_pipeline_programs_slow(&p.programs, machine);
    seconds = (struct mtlm_policy_seconds){
        evaluate_programs(&p, 0),
        mtlm_late_seconds(evaluate_programs, &p,
                          config->times->forward[0] / machine->stretch)};
    mtlm_pipeline_programs_free(&p.programs);
    return seconds;
}

static struct mtlm_policy_seconds seconds_of(const struct mtlm_wish *wish,
                                             const struct mtlm_choice *choice)
{
    struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    struct mtlm_policy_seconds seconds;

    mtlm_activation_memory_measure(&config);
    seconds = wish->machine.cluster
                  ? seconds_of_programs(&config, &wish->machine)
                  : seconds_of_stages(&config);
    mtlm_activation_memory_free(&config.activation);
    return seconds;
}

/* ---- the choice ---- */

/* Gives options and wish the schedule, which is used up. */
static void adopt(struct mtlm_options *options, struct mtlm_wish *wish,
                  const struct settled *settled)
{
    *options = settled->options;
    *wish = settled->wish;
    wish->config.times = options->times.stages > 0 ? &options->times : NULL;
}

/* Settles the schedule, which was settled from `before` under prio, under mtlm,
 * too.  Of both, the better one stays. */
static void compare(struct mtlm_options *options, struct mtlm_wish *wish,
                    const struct mtlm_choice *choice,
                    const struct settled *before)
{
    const struct mtlm_policy_seconds prio_s = seconds_of(wish, choice);
    struct settled prio = {*options, *wish}, mtlm = *before;
    struct mtlm_error err;
    struct mtlm_policy_seconds mtlm_s = {INFINITY, INFINITY};

    if (before->options.notes)
        mtlm.options.notes = mtlm_strdup(before->options.notes);
    mtlm_plugin_prefer(MTLM_HOLD_POLICY);
    if (mtlm_layout_choice_take(&mtlm.options, &mtlm.wish, choice, &err) == 0)
        mtlm_s = seconds_of(&mtlm.wish, choice);
    if (mtlm_policy_prefer(&mtlm.options, prio_s, mtlm_s)) {
        mtlm_settled_options_free(&prio.options, &before->options);
        adopt(options, wish, &mtlm);
    } else {
        mtlm_settled_options_free(&mtlm.options, &before->options);
    }
}

/* Takes the layout under prio, and again under mtlm. */
static int take_both(struct mtlm_options *options, struct mtlm_wish *wish,
                     const struct mtlm_choice *choice, struct mtlm_error *err)
{
    struct settled before = {*options, *wish};
    struct mtlm_program_config config;
    int rc;

    if (before.options.notes)
        before.options.notes = mtlm_strdup(before.options.notes);
    rc = mtlm_layout_choice_take(options, wish, choice, err);
    config = mtlm_choice_config(wish, choice);
    if (rc == 0 && !mtlm_program_is_chained(&config))
        compare(options, wish, choice, &before);
    free(before.options.notes);
    return rc;
}

int mtlm_policy_choice_take(struct mtlm_options *options,
                            struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            const struct mtlm_choice *choice,
                            struct mtlm_error *err)
{
    int rc;

    mtlm_plugin_prefer(MTLM_DEFAULT_POLICY);
    wish->policy_free = is_comparable(wish, hosts, choice);
    rc =
        wish->policy_free && wish->config.schedule->sizing != MTLM_SIZING_SEARCH
            ? take_both(options, wish, choice, err)
            : mtlm_layout_choice_take(options, wish, choice, err);
    wish->policy_free = false;
    return rc;
}
