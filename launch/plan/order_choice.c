/* The order that a schedule follows: found by search, or of its own plan. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "graph/build/ring.h"
#include "graph/predict/search_limit.h"
#include "graph/predict/search_order.h"
#include "graph/predict/search_program.h"
#include "launch/options/options_note.h"
#include "launch/options/options_schedule.h"
#include "launch/plan/order_choice.h"
#include "launch/plan/policy_prefer.h"
#include "launch/plan/step.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/machine/plugin.h"

void mtlm_order_choice_take(struct mtlm_options *options,
                            struct mtlm_wish *wish,
                            const struct mtlm_program_config *config,
                            const struct mtlm_box_order *order)
{
    options->order = mtlm_calloc(1, sizeof(*options->order));
    *options->order = *order;
    options->order_microbatches = config->microbatches;
    wish->order = options->order;
    wish->order_microbatches = config->microbatches;
}

/* Under a policy whose workers never wait for messages (0), or wait (1). */
struct searched {
    struct mtlm_program_config config;
    struct mtlm_found_order windows, found;
};

/* Compares programs if the machine is modelled. */
static void search_program(const struct mtlm_search_program *programs,
                           struct searched *s)
{
    if (!programs->machine->cluster
        || s->config.layout.placement == MTLM_PLACEMENT_POLICY)
        return;
    mtlm_step_show("comparing schedules");
    mtlm_search_program(programs, &s->config, &s->windows, &s->found);
}

static struct mtlm_policy_seconds seconds_of(const struct searched *s)
{
    return (struct mtlm_policy_seconds){s->found.seconds,
                                        s->found.late_seconds};
}

/* Searches for both policies, and prefers one.  Returns its index in s.  Stages
 * alone decide against waits, unless a collective keeps the worker of a pass.
 * Seconds are compared if they are of equally many microbatches: of all. */
static int search_both(struct mtlm_options *options,
                       struct mtlm_search_program programs,
                       struct searched s[2])
{
    struct mtlm_found_order windows[2], found[2];
    int best = 0;

    mtlm_search_order_both(&s[0].config, programs.kinds, programs.machine,
                           windows, found);
    for (int i = 0; i < 2; i++) {
        s[i].windows = windows[i];
        s[i].found = found[i];
    }
    programs.whole =
        s[0].config.layout.tp > 1
        || mtlm_policy_prefer_gains(seconds_of(&s[0]), seconds_of(&s[1]));
    programs.waits = false;
    search_program(&programs, &s[0]);
    if (programs.whole) {
        programs.waits = true;
        search_program(&programs, &s[1]);
        best =
            mtlm_policy_prefer(options, seconds_of(&s[0]), seconds_of(&s[1]));
    }
    mtlm_found_order_free(&s[1 - best].found);
    return best;
}

/* Searches windows and order for config: first by stages, then by programs.
 * Takes the order to options and wish if the order is shorter than windows. */
static void search_order(struct mtlm_options *options, struct mtlm_wish *wish,
                         struct mtlm_program_config *config, unsigned kinds,
                         struct mtlm_found_order *windows,
                         struct mtlm_found_order *found)
{
    const bool both =
        wish->policy_free && mtlm_search_limit_takes_any(config, kinds);
    struct searched s[2] = {{.config = *config}, {.config = *config}};
    int best = mtlm_plugin_holds();
    const struct mtlm_search_program programs = {.machine = &wish->machine,
                                                 .kinds = kinds,
                                                 .waits = best,
                                                 .ignores_memory =
                                                     options->ignore_memory};

    if (options->eval_only)
        return;
    mtlm_step_show("searching an order");
    if (both) {
        best = search_both(options, programs, s);
    } else {
        mtlm_search_order(config, kinds, &wish->machine, best, &s[best].windows,
                          &s[best].found);
        search_program(&programs, &s[best]);
    }
    mtlm_step_clear();
    *config = s[best].config;
    *windows = s[best].windows;
    *found = s[best].found;
    config->layout = found->layout;
    if (found->order.ranks == 0)
        return;
    wish->config.schedule = config->schedule = found->schedule;
    mtlm_order_choice_take(options, wish, config, &found->order);
    options->schedule_mode = found->follow;
    wish->config.follow = found->follow;
}

/* Writes "3.80 % shorter": by how much the order is shorter than windows.  The
 * choice by programs may be up to 0.1 % longer. */
static void describe_gain(const struct mtlm_found_order *windows,
                          const struct mtlm_found_order *found, char *text,
                          size_t bytes)
{
    const double gain = 100 * (1 - found->seconds / windows->seconds);
    const double late = 100 * (1 - found->late_seconds / windows->late_seconds);

    if (gain < -.005 && windows->too_large)
        snprintf(text, bytes, "as windows need more memory");
    else if (gain < -.005 && found->late_seconds == 0)
        snprintf(text, bytes, "%.2f %% longer", -gain);
    else if (gain >= .1 || found->late_seconds == 0)
        snprintf(text, bytes, "%.2f %% shorter", gain);
    else
        snprintf(text, bytes, "%.2f %% shorter behind late messages", late);
}

static void note_search(struct mtlm_options *options,
                        const struct mtlm_program_config *config,
                        const struct mtlm_found_order *windows,
                        const struct mtlm_found_order *found)
{
    static const char *const what[] = {[MTLM_FOLLOW_STRICT] = "sequence",
                                       [MTLM_FOLLOW_HINT] = "priorities",
                                       [MTLM_FOLLOW_WINDOWS] = "windows"};
    const struct mtlm_schedule *asked = mtlm_options_schedule(options);
    const int v = config->layout.virtual_stages;
    char gain[48], how[112];

    if (found->order.ranks > 0) {
        describe_gain(windows, found, gain, sizeof(gain));
        snprintf(how, sizeof(how), "the %s of %s, %s,", what[found->follow],
                 config->schedule == asked ? "an order found by search"
                                           : config->schedule->name,
                 gain);
    } else {
        snprintf(how, sizeof(how), "--window %.4f", config->window);
    }
    mtlm_options_note(options,
                      "schedule %s: %d virtual stage%s on each rank, "
                      "placement %s, %s --act-mem %.0f",
                      asked->name, v, mtlm_plural(v),
                      mtlm_placement_name(config->layout.placement), how,
                      config->act_mem);
}

static int64_t count_passes(const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    return mtlm_boxes_count(&boxes);
}

/* Notes stages of which no order is searched.  asked: before the search. */
static void note_limit(struct mtlm_options *options,
                       const struct mtlm_program_config *asked, unsigned kinds,
                       const struct mtlm_program_config *chosen)
{
    const char *name = mtlm_options_schedule(options)->name;
    struct mtlm_program_config skipped;
    int v;

    if (!mtlm_search_limit_skips(asked, kinds, &skipped))
        return;
    v = skipped.layout.virtual_stages;
    if (mtlm_search_limit_takes_any(asked, kinds))
        mtlm_options_note(options,
                          "schedule %s: with %d virtual stage%s on each rank, "
                          "no order is searched: %" PRId64
                          " passes an iteration, and the limit is %d",
                          name, v, mtlm_plural(v), count_passes(&skipped),
                          MTLM_SEARCH_LIMIT_BOXES);
    else
        mtlm_options_note(options,
                          "schedule %s: windows only, no order is searched: "
                          "%" PRId64
                          " passes an iteration, and the limit is %d",
                          name, count_passes(chosen), MTLM_SEARCH_LIMIT_BOXES);
}

void mtlm_order_choice_search(struct mtlm_options *options,
                              struct mtlm_wish *wish,
                              struct mtlm_program_config *config,
                              unsigned kinds)
{
    const struct mtlm_program_config asked = *config;
    struct mtlm_found_order windows = {0}, found = {0};

    /* The end of an order would be a flush. */
    if (config->weight_staleness == 0)
        search_order(options, wish, config, kinds, &windows, &found);
    note_search(options, config, &windows, &found);
    if (config->weight_staleness == 0 && !options->eval_only)
        note_limit(options, &asked, kinds, config);
}

void mtlm_order_choice_places(struct mtlm_options *options,
                              struct mtlm_wish *wish,
                              const struct mtlm_program_config *config)
{
    const struct mtlm_search_program programs = {.machine = &wish->machine,
                                                 .waits = true};
    struct mtlm_found_order windows, found;
    char gain[48];

    if (!mtlm_plugin_holds() || !mtlm_ring_times(config) || config->order
        || config->stage_windows || config->eval_only
        || config->weight_staleness > 0
        || config->schedule->sizing == MTLM_SIZING_SEARCH
        || mtlm_options_schedule_follows(options)
        || !mtlm_search_order_own(config, true, &windows, &found))
        return;
    if (wish->machine.cluster
        && !mtlm_search_program_allows(&programs, config, &found)) {
        mtlm_found_order_free(&found);
        return;
    }
    mtlm_order_choice_take(options, wish, config, &found.order);
    options->schedule_mode = wish->config.follow = MTLM_FOLLOW_HINT;
    describe_gain(&windows, &found, gain, sizeof(gain));
    mtlm_options_note(options,
                      "schedule %s: places in the order of its plan are "
                      "priorities, as workers wait for messages: %s",
                      config->schedule->name, gain);
}
