/* Makes a plan for a running job from measured times, and compares the plan
 * with the one that runs. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/bucket.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/hold.h"
#include "graph/predict/layer_balance.h"
#include "graph/predict/work.h"
#include "launch/plan/schedule_choice.h"
#include "launch/plan/second_plan.h"
#include "runtime/base/memory.h"
#include "runtime/machine/plugin.h"

/* Shares of the seconds of another plan, at most: of the first one; and with
 * moves, of the best one without. */
static const double worth = 0.995, worth_moves = 0.98;

/* Returns the seconds of an iteration of config.  window [stages]: of the
 * program; NULL: as the config says. */
static double evaluate(const struct mtlm_program_config *config,
                       const struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(&config->layout);
    const bool waits = mtlm_plugin_holds();
    struct mtlm_work work = mtlm_work_create(config);
    double seconds;

    if (window)
        memcpy(work.window, window, stages * sizeof(*window));
    seconds = mtlm_work_seconds(&work, config);
    if (waits && !mtlm_program_is_chained(config))
        mtlm_hold_choose(&work.pipeline, &seconds);
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
    struct mtlm_program_config config = mtlm_choice_config(&plan->wish, choice);
    double seconds;

    mtlm_activation_memory_measure(&config);
    seconds = evaluate(&config, NULL);
    mtlm_activation_memory_free(&config.activation);
    return seconds;
}

/* Returns the wish before the schedule was settled, but for the stages. */
static struct mtlm_wish first_wish(const struct mtlm_first_plan *first,
                                   const struct mtlm_second_plan *plan)
{
    struct mtlm_wish wish = *first->wish;

    wish.machine = (struct mtlm_stage_cost){0}; /* the times count */
    wish.order = NULL;
    wish.order_microbatches = 0;
    wish.stages_fixed = true;
    mtlm_schedule_choice_wish(&plan->options, &wish.config);
    /* The graph runs: where B and W are one, they stay one.  The ranks follow
     * the order of that schedule again, in the same mode. */
    if (first->wish->config.schedule->fused)
        wish.config.schedule = first->wish->config.schedule;
    wish.config.window = first->choice->window;
    wish.config.more_gradients = 0;
    if (plan->moves) {
        wish.stages.layers = plan->options.layers_of_stage;
        wish.stages.n = plan->options.n_layers_of_stage;
    }
    return wish;
}

/* Begins a plan by the times, which the plan takes over. */
static struct mtlm_second_plan begin_plan(const struct mtlm_first_plan *first,
                                          const struct mtlm_stage_times *times)
{
    struct mtlm_second_plan plan = {.options = *first->options};

    plan.options.times = *times;
    plan.options.order = NULL;
    plan.options.order_microbatches = 0;
    plan.options.notes = NULL;
    return plan;
}

/* Makes the schedule of a plan that has times and layers.  On failure, frees
 * the plan. */
static int settle(const struct mtlm_first_plan *first,
                  struct mtlm_second_plan *plan, struct mtlm_error *err)
{
    int rc;

    plan->wish = first_wish(first, plan);
    rc = mtlm_schedule_choice_settle(&plan->options, &plan->wish, first->choice,
                                     err);
    free(plan->options.notes); /* the log line says what changes */
    plan->options.notes = NULL;
    if (rc < 0) {
        mtlm_second_plan_free(plan);
        return -1;
    }
    plan->new_s = evaluate_new(plan, first->choice);
    return 0;
}

int mtlm_second_plan_make(const struct mtlm_first_plan *first,
                          struct mtlm_stage_times *times,
                          struct mtlm_second_plan *plan, struct mtlm_error *err)
{
    *plan = begin_plan(first, times);
    if (settle(first, plan, err) < 0)
        return -1;
    plan->old_s = evaluate_old(first->program, &plan->options.times);
    return 0;
}

/* ---- layers that move ---- */

bool mtlm_second_plan_may_move(const struct mtlm_first_plan *first)
{
    const struct mtlm_options *o = first->options;

    return !mtlm_options_given(o, MTLM_OPT_STAGE_LAYERS)
           && !mtlm_options_given(
               o, MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE)
           && !o->stage_windows
           && !mtlm_buckets_sharded(&first->program->config);
}

/* Shares by which the busiest rank may work longer than it must.  Of ranks with
 * almost equal times, the one with most memory left takes a layer. */
static const double slacks[] = {0, .01, .02};

enum { SLACKS = sizeof(slacks) / sizeof(slacks[0]) };

/* Returns the layers [stages] of the program.  The caller frees them. */
static int64_t *layers_of(const struct mtlm_layer_balance *balance)
{
    const int stages = mtlm_layout_stages(balance->layout);
    int64_t *layers = mtlm_calloc(stages, sizeof(*layers));

    for (int k = 0; k < stages; k++)
        layers[k] =
            mtlm_layout_layer_count(balance->layout, balance->num_layers, k);
    return layers;
}

/* Makes the plan with these layers, which the plan takes over.  Returns false
 * where there is none. */
static bool make_moved(const struct mtlm_first_plan *first,
                       const struct mtlm_layer_balance *balance,
                       int64_t *layers, struct mtlm_second_plan *moved)
{
    const struct mtlm_stage_times times =
        mtlm_layer_balance_times(balance, layers);
    struct mtlm_error err;

    *moved = begin_plan(first, &times);
    moved->moves = true;
    moved->options.layers_of_stage = layers;
    moved->options.n_layers_of_stage = mtlm_layout_stages(balance->layout);
    return settle(first, moved, &err) == 0;
}

/* Takes the plan with the layers of that slack to *best, if there is one and it
 * is shorter.  last: the layers tried before, replaced by these. */
static void try_slack(const struct mtlm_first_plan *first,
                      const struct mtlm_layer_balance *balance, double slack,
                      int64_t *last, struct mtlm_second_plan *best)
{
    const size_t bytes = mtlm_layout_stages(balance->layout) * sizeof(*last);
    int64_t *layers = mtlm_layer_balance_choose(balance, slack);
    struct mtlm_second_plan tried;

    if (memcmp(layers, last, bytes) == 0) {
        free(layers);
        return;
    }
    memcpy(last, layers, bytes);
    if (!make_moved(first, balance, layers, &tried))
        return;
    if (tried.new_s < best->new_s) {
        mtlm_second_plan_free(best);
        *best = tried;
    } else {
        mtlm_second_plan_free(&tried);
    }
}

bool mtlm_second_plan_move(const struct mtlm_first_plan *first,
                           const struct mtlm_second_plan *plan,
                           const struct mtlm_stage_times *in_layers,
                           struct mtlm_second_plan *moved)
{
    const struct mtlm_program_config *config = &first->program->config;
    const struct mtlm_layer_balance balance = {&config->layout,
                                               config->model.num_layers,
                                               &plan->options.times, in_layers};
    struct mtlm_second_plan best = {.new_s = INFINITY};
    int64_t *last;

    if (!mtlm_second_plan_may_move(first))
        return false;
    last = layers_of(&balance);
    for (int i = 0; i < SLACKS; i++)
        try_slack(first, &balance, slacks[i], last, &best);
    free(last);
    best.old_s = plan->old_s;
    if (best.new_s > worth_moves * fmin(plan->new_s, plan->old_s)) {
        mtlm_second_plan_free(&best);
        return false;
    }
    *moved = best;
    return true;
}

/* ---- a plan ---- */

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
    options->layers_of_stage = plan->options.layers_of_stage;
    options->n_layers_of_stage = plan->options.n_layers_of_stage;
    *wish = plan->wish;
    wish->config.times = options->times.stages > 0 ? &options->times : NULL;
    plan->options.times = first.times;
    plan->options.order = first.order;
    plan->options.order_microbatches = first.order_microbatches;
    plan->options.schedule_mode = first.schedule_mode;
    plan->options.layers_of_stage = first.layers_of_stage;
    plan->options.n_layers_of_stage = first.n_layers_of_stage;
    plan->wish = first_wish;
}

void mtlm_second_plan_free(struct mtlm_second_plan *plan)
{
    if (plan->options.order)
        mtlm_order_free(plan->options.order);
    free(plan->options.order);
    plan->options.order = NULL;
    if (plan->moves)
        free(plan->options.layers_of_stage);
    plan->options.layers_of_stage = NULL;
    mtlm_stage_times_free(&plan->options.times);
}
