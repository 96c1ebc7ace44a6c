/* Tries the programs of the schedules that --schedule auto may choose. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/order/rounding.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/limits.h"
#include "graph/predict/program_choice.h"
#include "graph/predict/search.h"
#include "graph/predict/search_limit.h"
#include "graph/predict/search_order.h"
#include "graph/predict/search_program.h"
#include "graph/predict/stage_kind.h"
#include "graph/schedule/schedule.h"
#include "runtime/base/memory.h"

/* Parts of the activation memory that are tried. */
enum { PARTS = 16 };

/* Returns the largest alpha whose windows fit. */
static double largest_alpha(const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    struct mtlm_window *window = mtlm_calloc(stages, sizeof(*window));
    double *times = mtlm_calloc(4 * stages, sizeof(*times));
    struct mtlm_window_model model =
        mtlm_ring_model(config, times, times + 3 * stages);
    double alpha;

    model.alpha = 0;
    alpha = mtlm_schedule_windows(config->schedule, &model, window);
    free(times);
    free(window);
    return alpha;
}

/* Returns whether programs of that alpha fit. */
static bool try_windows(struct mtlm_program_choice *s,
                        const struct mtlm_program_config *config, double alpha)
{
    struct mtlm_program_config one = *config;

    one.window = mtlm_search_alpha(alpha);
    mtlm_search_gradients(&one);
    return mtlm_program_choice_note(s, &one, (struct mtlm_box_order){0},
                                    MTLM_FOLLOW_WINDOWS);
}

/* Returns whether any of the programs fit. */
static bool try_all_windows(struct mtlm_program_choice *s,
                            const struct mtlm_program_config *config)
{
    const double alpha = largest_alpha(config);
    bool fit = alpha > 0 && try_windows(s, config, alpha);

    if (alpha > MTLM_ALPHA_1F1B)
        fit |= try_windows(s, config, MTLM_ALPHA_1F1B);
    return fit;
}

/* Tries the largest part of the activation memory that a device has room for.
 */
static void try_less_memory(struct mtlm_program_choice *s,
                            const struct mtlm_program_config *config)
{
    struct mtlm_program_config one = *config;
    bool fit = false;

    for (int part = PARTS - 1; part > 0 && !fit; part--) {
        one.act_mem = config->act_mem * part / PARTS;
        fit = try_all_windows(s, &one);
    }
}

static void try_published(struct mtlm_program_choice *s,
                          const struct mtlm_program_config *config,
                          const struct mtlm_published *published)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    if (!published || mtlm_published_lacks(published, &boxes))
        return;
    mtlm_program_choice_note(s, config, mtlm_order_build(published, config),
                             MTLM_FOLLOW_HINT);
    mtlm_program_choice_note(s, config, mtlm_order_build(published, config),
                             MTLM_FOLLOW_STRICT);
}

static void try_schedule(struct mtlm_program_choice *s,
                         const struct mtlm_program_config *config,
                         const struct mtlm_schedule *schedule)
{
    const struct mtlm_published *published =
        mtlm_published_find(schedule->name);
    struct mtlm_program_config own = *config;
    struct mtlm_found_order windows, found;
    bool enough;

    if (schedule->sizing != MTLM_SIZING_STAGES
        || !mtlm_schedule_fits(schedule, &config->layout)
        || !mtlm_search_limit_takes(config))
        return;
    own.schedule = schedule;
    if (schedule->fused) {
        try_published(s, &own, published);
        return;
    }
    enough =
        mtlm_ring_memory(&own) <= config->act_mem * (1 + MTLM_MEMORY_ROUNDING);
    own.act_mem = 0;
    own.activation.stage = NULL;
    if (enough
        && mtlm_search_order_own(&own, s->search->waits, &windows, &found))
        mtlm_program_choice_note(s, config, found.order, MTLM_FOLLOW_HINT);
    try_published(s, config, published);
}

static void try_kind(struct mtlm_program_choice *s,
                     const struct mtlm_program_config *config)
{
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;

    mtlm_stage_cost_take(s->search->machine, &one, &times);
    mtlm_activation_memory_measure(&one);
    try_all_windows(s, &one);
    if (s->tight)
        try_less_memory(s, &one);
    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++)
        try_schedule(s, &one, &mtlm_schedules[i]);
    mtlm_activation_memory_free(&one.activation);
    mtlm_stage_times_free(&times);
}

/* Tries the published orders of fused schedules: more stages shorten the bubble
 * of these. */
static void try_deeper(void *arg, const struct mtlm_program_config *config)
{
    struct mtlm_program_choice *s = arg;
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;

    mtlm_stage_cost_take(s->search->machine, &one, &times);
    mtlm_activation_memory_measure(&one);
    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++)
        if (mtlm_schedules[i].fused)
            try_schedule(s, &one, &mtlm_schedules[i]);
    mtlm_activation_memory_free(&one.activation);
    mtlm_stage_times_free(&times);
}

void mtlm_search_program(const struct mtlm_search_program *search,
                         struct mtlm_program_config *config,
                         struct mtlm_found_order *windows,
                         struct mtlm_found_order *found)
{
    struct mtlm_program_choice s = mtlm_program_choice_create(search, config);

    mtlm_program_choice_begin(&s, config, windows, found);
    if (search->kinds == MTLM_KINDS_GIVEN)
        try_kind(&s, config);
    for (int i = 0; i < MTLM_STAGE_KINDS; i++) {
        struct mtlm_program_config one;

        if ((search->kinds >> i & 1)
            && mtlm_stage_kind_place(config, &mtlm_stage_kinds[i], &one))
            try_kind(&s, &one);
    }
    if (search->kinds == MTLM_KINDS_ALL)
        mtlm_stage_kind_deeper(config, try_deeper, &s);
    mtlm_program_choice_choose(&s, config, windows, found);
}

bool mtlm_search_program_allows(const struct mtlm_search_program *search,
                                const struct mtlm_program_config *config,
                                const struct mtlm_found_order *found)
{
    const struct mtlm_program_choice s =
        mtlm_program_choice_create(search, config);
    struct mtlm_found_order order = *found;
    struct mtlm_found_order windows = {.schedule = config->schedule,
                                       .layout = config->layout};

    mtlm_program_choice_evaluate(&s, config, false, &windows);
    mtlm_program_choice_evaluate(&s, config, false, &order);
    return order.seconds * MTLM_WORTH_SHARE <= windows.seconds;
}
