/* The schedule of a layout: from the options before the layout is chosen,
 * checked and completed afterwards. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/search.h"
#include "graph/predict/stage_kind.h"
#include "launch/options/options_note.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_stages.h"
#include "launch/options/options_synthetic.h"
#include "launch/plan/order_choice.h"
#include "launch/plan/order_fit.h"
#include "launch/plan/schedule_choice.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

void mtlm_schedule_choice_wish(const struct mtlm_options *o,
                               struct mtlm_program_config *config)
{
    config->schedule = mtlm_options_schedule(o);
    config->act_mem = o->act_mem;
    config->follow = o->schedule_mode;
    config->stage_windows = o->window_of_stage;
    config->n_stage_windows = o->n_windows_of_stage;
    config->times = o->times.stages > 0 ? &o->times : NULL;
    config->window = o->act_mem > 0 && !mtlm_options_given(o, MTLM_OPT_WINDOW)
                         ? 0
                         : o->window;
}

/* Writes "2 or more virtual stages on each rank, placement loop". */
static void describe_needs(const struct mtlm_schedule *schedule, char *text,
                           size_t bytes)
{
    const char *placement = mtlm_placement_name(schedule->placement);
    const int n = schedule->least_chunks;

    snprintf(text, bytes, "%d%s virtual stage%s on each rank%s%s", n,
             schedule->most_chunks == 0 ? " or more" : "", n > 1 ? "s" : "",
             schedule->placed ? ", placement " : "",
             schedule->placed ? placement : "");
}

/* Refuses a layout that the schedule cannot have. */
static int check_stages(const struct mtlm_program_config *config,
                        struct mtlm_error *err)
{
    const struct mtlm_layout *layout = &config->layout;
    char needs[96];

    if (config->stage_windows
        && config->n_stage_windows != mtlm_layout_stages(layout))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--stage-windows names %d stages, and there are "
                              "%d x %d",
                              config->n_stage_windows, layout->pp,
                              layout->virtual_stages);
    if (mtlm_schedule_fits(config->schedule, layout))
        return 0;
    describe_needs(config->schedule, needs, sizeof(needs));
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--schedule %s needs %s; here each has %d, placement "
                          "%s",
                          config->schedule->name, needs, layout->virtual_stages,
                          mtlm_placement_name(layout->placement));
}

/* Refuses an order for other microbatches or virtual stages. */
static int check_order(const struct mtlm_options *o,
                       const struct mtlm_wish *wish,
                       const struct mtlm_program_config *config,
                       struct mtlm_error *err)
{
    const int v = config->layout.virtual_stages;
    int of_order;

    if (!wish->order || config->order || o->eval_only)
        return 0;
    of_order = wish->order->n[0] / (3 * wish->order_microbatches);
    if (wish->order_microbatches != config->microbatches)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s has %" PRId64 " microbatches, and --global-batch-size %" PRId64
            " in microbatches of %" PRId64 " on %d data-parallel rank%s makes "
            "%" PRId64,
            o->schedule_file, wish->order_microbatches, o->global_batch_size,
            config->micro_batch, config->layout.dp,
            mtlm_plural(config->layout.dp), config->microbatches);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "%s has %d virtual stage%s on each rank, and the options make %d",
        o->schedule_file, of_order, mtlm_plural(of_order), v);
}

/* Refuses --act-mem that is too small for the windows, or for the order. */
static int check_memory(const struct mtlm_options *o,
                        struct mtlm_program_config *config,
                        struct mtlm_error *err)
{
    int rc = 0;

    mtlm_activation_memory_measure(config);
    if (config->order && config->act_mem > 0)
        rc = mtlm_order_fit_act_mem(o, config, err);
    if (rc == 0)
        rc = mtlm_ring_check(config, err);
    mtlm_activation_memory_free(&config->activation);
    return rc;
}

void mtlm_schedule_choice_wish_cluster(struct mtlm_wish *wish,
                                       const struct mtlm_options *options,
                                       const struct mtlm_cluster *cluster)
{
    const bool modelled = !options->stage_times && !options->durations;

    wish->machine = mtlm_options_machine(options, modelled ? cluster : NULL);
}

static int check_slow_rank(const struct mtlm_stage_cost *machine,
                           const struct mtlm_layout *layout,
                           struct mtlm_error *err)
{
    const int ranks = mtlm_layout_ranks(layout);

    if (machine->speed <= 0 || machine->slow_rank < ranks)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--slow-rank %" PRId64
                          ":%g: this job has the ranks 0 to %d",
                          machine->slow_rank, machine->speed, ranks - 1);
}

/* Refuses a rank of --jitter that the job lacks, and factors of --jitter-file
 * for another pipeline. */
static int check_jitter(const struct mtlm_options *options,
                        const struct mtlm_program_config *config,
                        struct mtlm_error *err)
{
    const struct mtlm_layout *layout = &config->layout;
    const struct mtlm_noise_table *table = options->jitter.table;
    const int ranks = mtlm_layout_ranks(layout);
    const struct mtlm_noise_rank *absent =
        mtlm_noise_absent(&options->jitter, ranks);

    if (table
        && (table->stages != mtlm_layout_stages(layout)
            || table->microbatches != config->microbatches))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--jitter-file %s is of %d stages and %d microbatches, and there "
            "are %d x %d and %" PRId64,
            options->jitter_file, table->stages, table->microbatches,
            layout->pp, layout->virtual_stages, config->microbatches);
    if (!absent)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--jitter rank=%" PRId64
                          ":%g: this job has the ranks 0 to %d",
                          absent->rank, absent->times, ranks - 1);
}

/* Refuses times of another number of stages. */
static int check_times(const struct mtlm_options *o,
                       const struct mtlm_program_config *config,
                       struct mtlm_error *err)
{
    const struct mtlm_layout *layout = &config->layout;

    if (!config->times || mtlm_ring_times(config))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--%s %s has times of %d stages, and there are %d x "
                          "%d",
                          o->stage_times ? "stage-times" : "durations",
                          o->stage_times ? o->stage_times : o->durations,
                          config->times->stages, layout->pp,
                          layout->virtual_stages);
}

/* Sets the times of the layout in options and wish. */
static int settle_times(struct mtlm_options *options, struct mtlm_wish *wish,
                        const struct mtlm_choice *choice,
                        struct mtlm_error *err)
{
    const struct mtlm_program_config config = mtlm_choice_config(wish, choice);

    if (!wish->machine.cluster)
        return check_times(options, &config, err);
    mtlm_stage_times_free(&options->times);
    options->times = mtlm_stage_cost_times(&wish->machine, &config);
    wish->config.times = &options->times;
    return 0;
}

/* Returns the kinds of stages that the options leave to --schedule auto. */
static unsigned free_kinds(const struct mtlm_options *o,
                           const struct mtlm_wish *wish,
                           const struct mtlm_program_config *config)
{
    if (wish->stages_fixed || mtlm_options_given(o, MTLM_OPT_PLACEMENT)
        || mtlm_options_given(o, MTLM_OPT_STAGE_LAYERS))
        return MTLM_KINDS_GIVEN;
    if (!mtlm_options_stages_given(o))
        return MTLM_KINDS_ALL;
    return config->layout.virtual_stages == 2 ? MTLM_KINDS_OF_TWO
                                              : MTLM_KINDS_GIVEN;
}

/* Sets virtual stages, placement, windows and order of --schedule auto in wish,
 * and notes them. */
static void search(struct mtlm_options *options, struct mtlm_wish *wish,
                   struct mtlm_program_config *config)
{
    const unsigned kinds = free_kinds(options, wish, config);

    mtlm_search_schedule(config, kinds, &wish->machine);
    config->window = mtlm_search_alpha(config->window);
    mtlm_order_choice_search(options, wish, config, kinds);
    wish->config.window = config->window;
    wish->config.act_mem = config->act_mem;
    wish->config.layout.placement = config->layout.placement;
    if (!mtlm_options_stages_given(options))
        wish->stages.virtual_stages = config->layout.virtual_stages;
}

/* Refuses a pipeline that the published order cannot have. */
static int check_published(const struct mtlm_published *published,
                           const struct mtlm_program_config *config,
                           struct mtlm_error *err)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    const char *lacks = mtlm_published_lacks(published, &boxes);

    if (!lacks)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "the order of --schedule %s needs %s; here %d ranks "
                          "have %" PRId64 " microbatch%s",
                          published->name, lacks, config->layout.pp,
                          config->microbatches,
                          config->microbatches == 1 ? "" : "es");
}

/* Notes workers that the order does not know of. */
static void note_workers(struct mtlm_options *options,
                         const struct mtlm_program_config *config)
{
    const int lanes = mtlm_order_most_lanes(config->order);
    const int workers = config->layout.workers;
    char *whose, *strict;

    if (workers <= lanes)
        return;
    whose = options->schedule_file
                ? mtlm_strdup(options->schedule_file)
                : mtlm_sprintf("schedule %s", config->schedule->name);
    strict = config->follow == MTLM_FOLLOW_STRICT
                 ? mtlm_sprintf("; strict runs %d pass%s at a time", lanes,
                                mtlm_plural_es(lanes))
                 : mtlm_strdup("");
    mtlm_options_note(options,
                      "%s: its order is for %d worker%s on each rank, and here "
                      "each has %d%s",
                      whose, lanes, mtlm_plural(lanes), workers, strict);
    free(strict);
    free(whose);
}

/* Refuses more lanes than workers in mode strict, and notes workers without a
 * lane. */
static int check_lanes(struct mtlm_options *options,
                       const struct mtlm_program_config *config,
                       struct mtlm_error *err)
{
    const int workers = config->layout.workers;
    int lanes;

    if (!config->order || !options->schedule_file || config->eval_only)
        return 0;
    lanes = mtlm_order_most_lanes(config->order);
    if (lanes > workers && config->follow == MTLM_FOLLOW_STRICT)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has %d lanes on a rank, and each rank has %d "
                              "worker%s; give --workers %d, or --schedule-mode "
                              "hint",
                              options->schedule_file, lanes, workers,
                              mtlm_plural(workers), lanes);
    note_workers(options, config);
    return 0;
}

static void note_order(struct mtlm_options *options,
                       const struct mtlm_program_config *config)
{
    static const char *const how[] = {[MTLM_FOLLOW_STRICT] = "strictly",
                                      [MTLM_FOLLOW_HINT] = "as priorities",
                                      [MTLM_FOLLOW_WINDOWS] =
                                          "by its windows only"};
    const struct mtlm_schedule *schedule = config->schedule;

    mtlm_options_note(options, "schedule %s: follows the order of %s %s",
                      schedule->name, schedule->source,
                      how[options->schedule_mode]);
    note_workers(options, config);
}

/* Returns whether ranks follow the published order of config's schedule: as the
 * options say, or as a search chose for the first plan of the job.  Such a
 * schedule, in which B and W are one, stands in the place of auto. */
static bool follows_published(const struct mtlm_options *options,
                              const struct mtlm_program_config *config)
{
    const struct mtlm_schedule *asked = mtlm_options_schedule(options);

    return mtlm_options_schedule_follows(options)
           || (asked->sizing == MTLM_SIZING_SEARCH && config->schedule != asked
               && !config->order);
}

/* Sets the order of a published schedule, by the times of the layout, in
 * options and wish. */
static int settle_order(struct mtlm_options *options, struct mtlm_wish *wish,
                        const struct mtlm_choice *choice,
                        struct mtlm_error *err)
{
    struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    const struct mtlm_published *published =
        mtlm_published_find(config.schedule->name);
    struct mtlm_box_order order;

    if (!follows_published(options, &config) || config.layout.pp == 1)
        return 0;
    if (check_published(published, &config, err) < 0)
        return -1;
    mtlm_activation_memory_measure(&config);
    order = mtlm_order_build(published, &config);
    mtlm_activation_memory_free(&config.activation);
    mtlm_order_choice_take(options, wish, &config, &order);
    config.order = wish->order;
    note_order(options, &config);
    return check_memory(options, &config, err);
}

/* Sets the slots of gradients by the times of the layout in wish. */
static void settle_gradients(struct mtlm_wish *wish,
                             const struct mtlm_choice *choice)
{
    struct mtlm_program_config config = mtlm_choice_config(wish, choice);

    if (!mtlm_ring_times(&config) || config.act_mem == 0 || config.order
        || config.schedule->sizing == MTLM_SIZING_STAGES)
        return;
    mtlm_search_gradients(&config);
    wish->config.more_gradients = config.more_gradients;
}

int mtlm_schedule_choice_settle(struct mtlm_options *options,
                                struct mtlm_wish *wish,
                                const struct mtlm_choice *choice,
                                struct mtlm_error *err)
{
    struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    const bool searches = config.schedule->sizing == MTLM_SIZING_SEARCH
                          && mtlm_layout_pipeline(&config.layout) > 1;

    if (check_stages(&config, err) < 0
        || check_order(options, wish, &config, err) < 0
        || check_lanes(options, &config, err) < 0
        || check_slow_rank(&wish->machine, &config.layout, err) < 0
        || check_jitter(options, &config, err) < 0)
        return -1;
    if (mtlm_options_given(options, MTLM_OPT_SCHEDULE)
        && (config.schedule->least_chunks > 1
            || mtlm_options_schedule_follows(options))
        && mtlm_layout_pipeline(&config.layout) == 1)
        mtlm_options_note(options,
                          "--schedule %s: without effect, the pipeline has "
                          "one rank",
                          config.schedule->name);
    if (!searches && settle_times(options, wish, choice, err) < 0)
        return -1;
    config.times = wish->config.times;
    if (check_memory(options, &config, err) < 0)
        return -1;
    if (searches) {
        search(options, wish, &config);
        if (settle_times(options, wish, choice, err) < 0)
            return -1;
    }
    settle_gradients(wish, choice);
    config = mtlm_choice_config(wish, choice);
    mtlm_order_choice_places(options, wish, &config);
    return settle_order(options, wish, choice, err);
}
