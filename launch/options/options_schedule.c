/* --schedule: checks and completes the options that a schedule decides. */

#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/published.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_simulate.h"
#include "launch/options/options_stages.h"
#include "runtime/base/memory.h"

enum { MOST_SLOTS = 1000000 };

const struct mtlm_schedule *mtlm_options_schedule(
    const struct mtlm_options *options)
{
    return &mtlm_schedules[options->schedule];
}

const char *mtlm_options_schedule_name(const struct mtlm_options *options)
{
    return options->schedule_file ? options->schedule_file
                                  : mtlm_options_schedule(options)->name;
}

bool mtlm_options_schedule_follows(const struct mtlm_options *options)
{
    const struct mtlm_schedule *schedule = mtlm_options_schedule(options);

    return !options->schedule_file && !options->eval_only
           && (schedule->followed
               || ((mtlm_options_given(options, MTLM_OPT_SCHEDULE_MODE)
                    || mtlm_options_published_order(options))
                   && mtlm_published_find(schedule->name)));
}

/* Returns whether an option may set the windows of the schedule.  search: the
 * option also limits a search. */
static bool takes_size(const struct mtlm_schedule *schedule, bool search)
{
    return schedule->sizing == MTLM_SIZING_OPTIONS
           || (search && schedule->sizing == MTLM_SIZING_SEARCH);
}

/* Refuses an option that the schedule does not take.  The error names the
 * schedules that take the option. */
static int refuse_size(const struct mtlm_options *o, const char *option,
                       bool search, struct mtlm_error *err)
{
    const struct mtlm_schedule *schedule = mtlm_options_schedule(o);
    char names[160] = "";

    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++)
        if (takes_size(&mtlm_schedules[i], search)) {
            const size_t n = strlen(names);

            snprintf(names + n, sizeof(names) - n, "%s%s", n ? " or " : "",
                     mtlm_schedules[i].name);
        }
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "--%s is for --schedule %s: the windows of %s %s",
        option, names, schedule->name,
        schedule->sizing == MTLM_SIZING_SEARCH ? "come from a search"
                                               : "follow from the stages");
}

/* Reads "W[+Q]".  Returns the text after these characters, or NULL for other
 * text. */
static const char *read_window(const char *at, struct mtlm_window *window)
{
    int64_t number[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        char *end;

        if (!isdigit((unsigned char) *at))
            return NULL;
        number[i] = strtol(at, &end, 10);
        if (number[i] < (i == 0) || number[i] > MOST_SLOTS)
            return NULL;
        at = end;
        if (i == 1 || *at != '+')
            break;
        at++;
    }
    *window = (struct mtlm_window){number[0], number[1], 0};
    return at;
}

static int read_windows(struct mtlm_options *o, struct mtlm_error *err)
{
    const char *at = o->stage_windows;
    const char *other = mtlm_options_given(o, MTLM_OPT_WINDOW) ? "window"
                        : o->act_mem > 0                       ? "act-mem"
                                                               : NULL;

    if (!takes_size(mtlm_options_schedule(o), false))
        return refuse_size(o, "stage-windows", false, err);
    if (other)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--stage-windows and --%s contradict each other; give one of them",
            other);
    free(o->window_of_stage);
    o->window_of_stage =
        mtlm_calloc(strlen(at) + 1, sizeof(*o->window_of_stage));
    o->n_windows_of_stage = 0;
    while ((at = read_window(at, &o->window_of_stage[o->n_windows_of_stage]))) {
        o->n_windows_of_stage++;
        at += strspn(at, " ");
        if (!*at)
            return 0;
        if (*at++ != ',')
            break;
        at += strspn(at, " ");
    }
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--stage-windows is '%.56s', it must be W or W+Q of "
                          "each stage, such as 4,3+1,2+2,1+3",
                          o->stage_windows);
}

int mtlm_options_schedule_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err)
{
    struct mtlm_options *o = options;
    const struct mtlm_schedule *schedule = mtlm_options_schedule(o);
    const bool follows = mtlm_options_schedule_follows(o);

    /* A configuration file may hold options that take no effect. */
    if (mtlm_options_source(o, MTLM_OPT_SVG_DETAIL) == MTLM_SOURCE_COMMAND_LINE
        && !o->trace_dir && !o->svg)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--svg-detail is for the picture of --trace DIR "
                              "or of --dry-run --svg FILE");
    if (o->svg && o->request != MTLM_REQUEST_PLAN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--svg draws the plan of --dry-run; --trace DIR "
                              "draws what ran");
    if (o->schedule_out && o->request != MTLM_REQUEST_PLAN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--schedule-out writes the order of --dry-run");
    if (o->schedule_out && o->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--schedule-out is for placement loop or v: with "
                              "--placement policy no rank has an order");
    if (mtlm_options_given(o, MTLM_OPT_WINDOW) && !takes_size(schedule, false))
        return refuse_size(o, "window", false, err);
    if (o->act_mem > 0 && !takes_size(schedule, true) && !follows)
        return refuse_size(o, "act-mem", true, err);
    if (o->placement == MTLM_PLACEMENT_POLICY && (schedule->placed || follows))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--schedule %s places stages on ranks, and "
                              "--placement policy leaves the place to the "
                              "scheduling policy",
                              schedule->name);
    if (follows && !mtlm_options_given(o, MTLM_OPT_SCHEDULE_MODE))
        o->schedule_mode = mtlm_options_published_order(o) ? MTLM_FOLLOW_STRICT
                                                           : MTLM_FOLLOW_HINT;
    if (o->stage_windows && read_windows(o, err) < 0)
        return -1;
    if (schedule->placed && !mtlm_options_given(o, MTLM_OPT_PLACEMENT))
        o->placement = schedule->placement;
    if (schedule->least_chunks > 1 && !mtlm_options_stages_given(o))
        o->virtual_stages = schedule->least_chunks;
    return 0;
}
