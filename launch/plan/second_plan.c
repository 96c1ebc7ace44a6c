/* Makes a plan for a running job from measured times, and compares the plan
 * with the one that runs. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/predict/activation_memory.h"
#include "graph/predict/hold.h"
#include "graph/predict/work.h"
#include "launch/plan/schedule_choice.h"
#include "launch/plan/second_plan.h"
#include "runtime/machine/plugin.h"

static const double worth = 0.995;

/* Returns the seconds of an iteration of config.  window [stages]: of the
 * program; NULL: as the config says. */
static double evaluate(const struct mtlm_program_config *config,
                       const struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const bool waits = strcmp(mtlm_plugin_wanted(), "mtlm") == 0;
    struct mtlm_work work = mtlm_work_create(config);
    struct mtlm_evaluation e;
    double seconds;

    if (window)
        memcpy(work.window, window, stages * sizeof(*window));
    e = mtlm_work_evaluate(&work, config);
    seconds = e.makespan_s;
    if (waits && !mtlm_program_is_chained(config))
        mtlm_hold_choose(&work.pipeline, &seconds);
    mtlm_evaluation_free(&e);
    mtlm_work_free(&work);
    return seconds;
}

/* Returns the seconds of the program by the times. */
static double evaluate_old(const struct mtlm_program *program,
                           const struct mtlm_stage_times *times)
{
    struct mtlm_program_config config = program->config;

    config.times = times;
    return evaluate(&config, program->window);
}

static double evaluate_new(const struct mtlm_second_plan *plan,
                           const struct mtlm_choice *choice)
{
    struct mtlm_program_config config = mtlm_wish_config(
        &plan->wish, choice->tp, choice->pp, choice->dp, choice->micro_batch);
    double seconds;

    mtlm_activation_memory_measure(&config);
    seconds = evaluate(&config, NULL);
    mtlm_activation_memory_free(&config.activation);
    return seconds;
}

/* Returns the wish before the schedule was settled, but for the stages. */
static struct mtlm_wish first_wish(const struct mtlm_wish *settled,
                                   const struct mtlm_options *options,
                                   const struct mtlm_choice *choice)
{
    struct mtlm_wish wish = *settled;

    wish.machine = (struct mtlm_stage_cost){0}; /* the times count */
    wish.order = NULL;
    wish.order_microbatches = 0;
    wish.stages_fixed = true;
    mtlm_schedule_choice_wish(options, &wish.config);
    wish.config.window = choice->window;
    wish.config.more_gradients = 0;
    return wish;
}

int mtlm_second_plan_make(const struct mtlm_options *options,
                          const struct mtlm_wish *wish,
                          const struct mtlm_choice *choice,
                          const struct mtlm_program *program,
                          struct mtlm_stage_times *times,
                          struct mtlm_second_plan *plan, struct mtlm_error *err)
{
    int rc;

    plan->options = *options;
    plan->options.times = *times;
    plan->options.order = NULL;
    plan->options.order_microbatches = 0;
    plan->options.notes = NULL;
    plan->wish = first_wish(wish, &plan->options, choice);
    rc = mtlm_schedule_choice_settle(&plan->options, &plan->wish, choice, err);
    free(plan->options.notes); /* the log line says what changes */
    plan->options.notes = NULL;
    if (rc < 0) {
        mtlm_second_plan_free(plan);
        return -1;
    }
    plan->old_s = evaluate_old(program, &plan->options.times);
    plan->new_s = evaluate_new(plan, choice);
    return 0;
}

bool mtlm_second_plan_is_worth(const struct mtlm_second_plan *plan)
{
    return plan->new_s <= worth * plan->old_s;
}

const char *mtlm_second_plan_follow(const struct mtlm_program_config *config)
{
    static const char *const text[] = {
        [MTLM_FOLLOW_STRICT] = ", passes start in the sequence of an order",
        [MTLM_FOLLOW_HINT] = ", places in an order are priorities",
        [MTLM_FOLLOW_WINDOWS] = ""};

    return config->order ? text[config->follow] : "";
}

void mtlm_second_plan_swap(struct mtlm_second_plan *plan,
                           struct mtlm_options *options, struct mtlm_wish *wish)
{
    const struct mtlm_options first = *options;
    const struct mtlm_wish first_wish = *wish;

    options->times = plan->options.times;
    options->order = plan->options.order;
    options->order_microbatches = plan->options.order_microbatches;
    options->schedule_mode = plan->options.schedule_mode;
    *wish = plan->wish;
    wish->config.times = options->times.stages > 0 ? &options->times : NULL;
    plan->options.times = first.times;
    plan->options.order = first.order;
    plan->options.order_microbatches = first.order_microbatches;
    plan->options.schedule_mode = first.schedule_mode;
    plan->wish = first_wish;
}

void mtlm_second_plan_free(struct mtlm_second_plan *plan)
{
    if (plan->options.order)
        mtlm_order_free(plan->options.order);
    free(plan->options.order);
    plan->options.order = NULL;
    mtlm_stage_times_free(&plan->options.times);
}
