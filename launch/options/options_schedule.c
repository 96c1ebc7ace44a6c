/* --schedule: what the published schedules fix, and what does not go with
 * them. */

#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build/ring.h"
#include "graph/predict/search.h"
#include "launch/options/option.h"
#include "launch/plan/layout_choice.h"
#include "runtime/base/memory.h"

#define CHUNKS "num-virtual-stages-per-pipeline-rank"
#define LAYERS "num-layers-per-virtual-pipeline-stage"
#define LIST "stage-layers"
#define WINDOWS "stage-windows"

enum { MOST_SLOTS = 1000000 };

static const char *const name[] = {"window", "gpipe", "1f1b", "interleaved",
                                   "zb-h1",  "zb-h2", "zb-v", "auto"};

const char *mtlm_schedule_name(const struct mtlm_options *options)
{
    return name[options->pipeline];
}

static bool is_window(const struct mtlm_options *o)
{
    return o->pipeline == MTLM_PIPELINE_WINDOW;
}

static bool chunks_given(const struct mtlm_options *o)
{
    return mtlm_option_given(o, CHUNKS) || mtlm_option_given(o, LAYERS)
           || mtlm_option_given(o, LIST);
}

/* "W[+Q]"; returns what follows it, NULL: it is none. */
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
    const char *other = mtlm_option_given(o, "window") ? "window"
                        : o->act_mem > 0               ? "act-mem"
                                                       : NULL;

    if (!is_window(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--" WINDOWS " is for --schedule window: the "
                              "windows of %s follow from the stages",
                              name[o->pipeline]);
    if (other)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--" WINDOWS " says what --%s would: one of them",
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
                          "--" WINDOWS " is '%.56s', it must be W or W+Q of "
                          "each stage, such as 4,3+1,2+2,1+3",
                          o->stage_windows);
}

int mtlm_schedule_resolve(struct mtlm_options *options, struct mtlm_error *err)
{
    struct mtlm_options *o = options;

    /* A file may hold all there is. */
    if (mtlm_option_source(o, "svg-detail") == MTLM_SOURCE_COMMAND_LINE
        && !o->trace_dir && !o->svg)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--svg-detail is for the picture of --trace DIR "
                              "or of --dry-run --svg FILE");
    if (o->svg && o->request != MTLM_REQUEST_PLAN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--svg draws the plan of --dry-run; --trace DIR "
                              "draws what ran");
    if (mtlm_option_given(o, "window") && !is_window(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--window is for --schedule window: the windows "
                              "of %s follow from the stages",
                              name[o->pipeline]);
    if (o->act_mem > 0 && !is_window(o) && o->pipeline != MTLM_SCHEDULE_AUTO)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--act-mem is for --schedule window or auto: the "
                              "memory of %s follows from the stages",
                              name[o->pipeline]);
    if (o->placement == MTLM_PLACEMENT_POLICY
        && (o->pipeline == MTLM_PIPELINE_ZB_V
            || o->pipeline == MTLM_PIPELINE_INTERLEAVED))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--schedule %s is about which stages a rank "
                              "holds, which --placement policy leaves to the "
                              "scheduling policy",
                              name[o->pipeline]);
    if (o->stage_windows && read_windows(o, err) < 0)
        return -1;
    if (o->pipeline == MTLM_PIPELINE_ZB_V && !mtlm_option_given(o, "placement"))
        o->placement = MTLM_PLACEMENT_V;
    if ((o->pipeline == MTLM_PIPELINE_ZB_V
         || o->pipeline == MTLM_PIPELINE_INTERLEAVED)
        && !chunks_given(o))
        o->virtual_stages = 2;
    return 0;
}

void mtlm_schedule_wish(const struct mtlm_options *o,
                        struct mtlm_program_config *config)
{
    config->pipeline = o->pipeline == MTLM_SCHEDULE_AUTO
                           ? MTLM_PIPELINE_WINDOW
                           : (enum mtlm_pipeline) o->pipeline;
    config->act_mem = o->act_mem;
    config->stage_windows = o->window_of_stage;
    config->n_stage_windows = o->n_windows_of_stage;
    config->window =
        o->act_mem > 0 && !mtlm_option_given(o, "window") ? 0 : o->window;
}

/* Whether the schedule can be that of the layout. */
static int check_stages(const struct mtlm_program_config *config,
                        struct mtlm_error *err)
{
    const struct mtlm_layout *layout = &config->layout;
    const bool v = layout->placement == MTLM_PLACEMENT_V;
    const char *needs = NULL;

    if (config->stage_windows
        && config->n_stage_windows != mtlm_layout_stages(layout))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--" WINDOWS " names %d stages, and there are "
                              "%d x %d",
                              config->n_stage_windows, layout->pp,
                              layout->virtual_stages);
    switch (config->pipeline) {
    case MTLM_PIPELINE_WINDOW:
        return 0;
    case MTLM_PIPELINE_INTERLEAVED:
        if (layout->virtual_stages < 2 || v)
            needs = "two or more virtual stages on each rank, placement loop";
        break;
    case MTLM_PIPELINE_ZB_V:
        if (layout->virtual_stages != 2 || !v)
            needs = "two virtual stages on each rank, placement v";
        break;
    default:
        if (mtlm_layout_stages(layout) > mtlm_layout_pipeline(layout))
            needs = "one virtual stage on each rank";
        break;
    }
    if (!needs)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--schedule %s needs %s; here each has %d, placement "
                          "%s",
                          name[config->pipeline], needs, layout->virtual_stages,
                          mtlm_placement_name(layout->placement));
}

int mtlm_schedule_settle(struct mtlm_options *options, struct mtlm_wish *wish,
                         const struct mtlm_choice *choice,
                         struct mtlm_error *err)
{
    struct mtlm_program_config config = mtlm_wish_config(
        wish, choice->tp, choice->pp, choice->dp, choice->micro_batch);

    if (check_stages(&config, err) < 0 || mtlm_ring_check(&config, err) < 0)
        return -1;
    if (options->pipeline != MTLM_SCHEDULE_AUTO
        || mtlm_layout_pipeline(&config.layout) == 1)
        return 0;
    mtlm_search_schedule(&config,
                         chunks_given(options)
                                 || mtlm_option_given(options, "placement")
                             ? config.layout.virtual_stages
                             : 0);
    /* As it is printed; windows grow right above what was found. */
    config.window = floor(config.window * 1e4) / 1e4;
    wish->config.pipeline = config.pipeline;
    wish->config.window = config.window;
    wish->config.act_mem = config.act_mem;
    wish->config.layout.placement = config.layout.placement;
    if (!chunks_given(options))
        wish->stages.virtual_stages = config.layout.virtual_stages;
    mtlm_options_note(options,
                      "schedule auto: %d virtual stage%s on each rank, "
                      "placement %s, --window %.4f --act-mem %.0f",
                      config.layout.virtual_stages,
                      config.layout.virtual_stages > 1 ? "s" : "",
                      mtlm_placement_name(config.layout.placement),
                      config.window, config.act_mem);
    return 0;
}
