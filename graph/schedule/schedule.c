/* The table of schedules, and the formula of each schedule's windows. */

#include "config.h"

#include <string.h>

#include "graph/schedule/schedule.h"

/* ---- windows ---- */

static double by_options(const struct mtlm_window_model *model,
                         struct mtlm_window *window)
{
    double alpha = model->alpha;

    if (model->given) {
        mtlm_window_set_given(model, window);
        return 0;
    }
    if (model->most_memory > 0 && alpha == 0)
        alpha = mtlm_window_set_memory(model, model->most_memory, window);
    else
        mtlm_window_set_alpha(model, alpha, window);
    if (model->most_memory > 0)
        mtlm_window_fill(model, model->most_memory, window);
    else
        mtlm_window_fill_evenly(model, window);
    return alpha;
}

/* w_k = m */
static double all_microbatches(const struct mtlm_window_model *model,
                               struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);

    for (int k = 0; k < stages; k++)
        window[k] = (struct mtlm_window){
            mtlm_window_clamp(model, model->microbatches), 0, 0};
    return 0;
}

static double one_pipeline(const struct mtlm_window_model *model,
                           struct mtlm_window *window)
{
    mtlm_window_set_alpha(model, MTLM_ALPHA_1F1B, window);
    return MTLM_ALPHA_1F1B;
}

/* On equal stages, q_k = k. */
static double one_pipeline_filled(const struct mtlm_window_model *model,
                                  struct mtlm_window *window)
{
    mtlm_window_set_alpha(model, MTLM_ALPHA_1F1B, window);
    mtlm_window_fill_evenly(model, window);
    return MTLM_ALPHA_1F1B;
}

/* Twice w_k less one; on equal stages, q_k = 2k. */
static double two_pipelines_filled(const struct mtlm_window_model *model,
                                   struct mtlm_window *window)
{
    const int stages = mtlm_layout_stages(model->layout);

    mtlm_window_set_alpha(model, MTLM_ALPHA_1F1B, window);
    for (int k = 0; k < stages; k++)
        window[k].w = mtlm_window_clamp(model, 2 * window[k].w - 1);
    mtlm_window_fill_evenly(model, window);
    return 0;
}

/* The memory of so many microbatches on the fullest rank. */
static double memory_of(const struct mtlm_window_model *model, int microbatches,
                        struct mtlm_window *window)
{
    const double most = microbatches * mtlm_window_microbatch_memory(model);
    const double alpha = mtlm_window_set_memory(model, most, window);

    mtlm_window_fill(model, most, window);
    return alpha;
}

static double pipeline_of_memory(const struct mtlm_window_model *model,
                                 struct mtlm_window *window)
{
    return memory_of(model, model->layout->pp, window);
}

static double half_of_memory(const struct mtlm_window_model *model,
                             struct mtlm_window *window)
{
    return memory_of(model, model->layout->pp / 2 + 1, window);
}

static double third_of_memory(const struct mtlm_window_model *model,
                              struct mtlm_window *window)
{
    return memory_of(model, (model->layout->pp + 4) / 3, window);
}

static double interleaved(const struct mtlm_window_model *model,
                          struct mtlm_window *window)
{
    mtlm_window_set_interleaved(model, window);
    return 0;
}

/* ---- the table ---- */

const struct mtlm_schedule mtlm_schedules[MTLM_SCHEDULE_COUNT] = {
#define SCHEDULE(name_, help_, ...) {.name = name_, .help = help_, __VA_ARGS__},
    MTLM_SCHEDULE_LIST(SCHEDULE)
#undef SCHEDULE
};

const struct mtlm_schedule *mtlm_schedule_find(const char *name)
{
    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++)
        if (strcmp(mtlm_schedules[i].name, name) == 0)
            return &mtlm_schedules[i];
    return NULL;
}

double mtlm_schedule_windows(const struct mtlm_schedule *schedule,
                             const struct mtlm_window_model *model,
                             struct mtlm_window *window)
{
    const double alpha = schedule->windows(model, window);

    mtlm_window_add_gradients(model, window);
    return alpha;
}

struct mtlm_priority mtlm_schedule_priority(
    const struct mtlm_schedule *schedule, const struct mtlm_layout *layout,
    int microbatches)
{
    return (struct mtlm_priority){.chunks = layout->virtual_stages,
                                  .microbatches = microbatches,
                                  .stages = layout->pp,
                                  .fused = schedule->fused,
                                  .order = schedule->order};
}

bool mtlm_schedule_fits(const struct mtlm_schedule *schedule,
                        const struct mtlm_layout *layout)
{
    /* With placement policy, stages of the pipeline count as ranks. */
    const int chunks =
        mtlm_layout_stages(layout) / mtlm_layout_pipeline(layout);

    return chunks >= schedule->least_chunks
           && (schedule->most_chunks == 0 || chunks <= schedule->most_chunks)
           && (!schedule->placed || layout->placement == schedule->placement);
}
