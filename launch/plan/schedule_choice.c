/* The schedule of a layout: what the options wish, and what comes of it once
 * the layout is chosen. */

#include "config.h"

#include <math.h>

#include "graph/build/ring.h"
#include "graph/predict/search.h"
#include "launch/options/options_note.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_stages.h"
#include "launch/plan/schedule_choice.h"

void mtlm_schedule_choice_wish(const struct mtlm_options *o,
                               struct mtlm_program_config *config)
{
    config->pipeline = o->pipeline == MTLM_SCHEDULE_AUTO
                           ? MTLM_PIPELINE_WINDOW
                           : (enum mtlm_pipeline) o->pipeline;
    config->act_mem = o->act_mem;
    config->stage_windows = o->window_of_stage;
    config->n_stage_windows = o->n_windows_of_stage;
    config->window = o->act_mem > 0 && !mtlm_options_given(o, MTLM_OPT_WINDOW)
                         ? 0
                         : o->window;
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
                              "--stage-windows names %d stages, and there are "
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
                          mtlm_options_schedule_name(config->pipeline), needs,
                          layout->virtual_stages,
                          mtlm_placement_name(layout->placement));
}

int mtlm_schedule_choice_settle(struct mtlm_options *options,
                                struct mtlm_wish *wish,
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
    mtlm_search_schedule(
        &config, mtlm_options_stages_given(options)
                         || mtlm_options_given(options, MTLM_OPT_PLACEMENT)
                     ? config.layout.virtual_stages
                     : 0);
    /* As it is printed; windows grow right above what was found. */
    config.window = floor(config.window * 1e4) / 1e4;
    wish->config.pipeline = config.pipeline;
    wish->config.window = config.window;
    wish->config.act_mem = config.act_mem;
    wish->config.layout.placement = config.layout.placement;
    if (!mtlm_options_stages_given(options))
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
