/* Evaluates the programs of the schedules that --schedule auto may choose. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/order/rounding.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/hold.h"
#include "graph/predict/limits.h"
#include "graph/predict/outline.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/search.h"
#include "graph/predict/search_limit.h"
#include "graph/predict/search_order.h"
#include "graph/predict/search_program.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "graph/schedule/schedule.h"
#include "runtime/base/memory.h"

/* Programs of more than MTLM_MANY_NODES are evaluated with fewer microbatches,
 * at least so many per pipeline rank. */
enum { ENOUGH = 2 };

/* Parts of the activation memory that are tried. */
enum { PARTS = 16 };

/* Without tensor parallelism, programs take about what their stages do.  Then a
 * candidate's stages take at most so many times the time of the choice's. */
static const double stages_slack = 1.02;

/* What may be chosen.  found.seconds: INFINITY if it does not fit. */
struct program_choice {
    struct mtlm_found_order found;
    double window, act_mem; /* of windows without an order */
};

/* The shortest of each kind stays: of chains, and of the others.  The first
 * microbatches say less of one kind beside the other. */
enum { READY, CHAINED, KINDS };

struct program_search {
    const struct mtlm_search_program *search;
    int64_t microbatches; /* that are evaluated */
    bool tight;           /* the choice before does not fit into a device */
    double most;          /* seconds of a choice that replaces the one before */
    double most_stages;   /* the same, by stages */
    struct program_choice best[KINDS]; /* so far */
};

/* ---- evaluation ---- */

/* Returns the seconds of an iteration of the programs. */
static double seconds_of(const struct program_search *s,
                         const struct mtlm_program_config *config)
{
    struct mtlm_program_config one = *config;
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    const struct mtlm_stage_cost *machine = s->search->machine;
    struct mtlm_pipeline_programs p;
    struct mtlm_box_order first;
    double share[MTLM_HOLD_SEARCHED], seconds = INFINITY;
    const int n = mtlm_hold_searched_shares(config, s->search->waits, share);

    one.microbatches = s->microbatches;
    if (config->order) {
        first = mtlm_order_first(config->order, &boxes, one.microbatches);
        one.order = &first;
    }
    p = mtlm_pipeline_programs_create(&one, machine->cluster);
    mtlm_pipeline_programs_slow(&p, machine);
    for (int i = 0; i < n; i++)
        seconds = fmin(seconds, mtlm_pipeline_programs_makespan(&p, share[i]));
    mtlm_pipeline_programs_free(&p);
    if (config->order)
        mtlm_order_free(&first);
    return seconds;
}

/* Whether the stages take no more seconds, with this share of the hold rule. */
static bool stages_fit(const struct mtlm_work *work,
                       const struct mtlm_program_config *config, double share,
                       double seconds)
{
    struct mtlm_work one = *work;

    one.pipeline.hold = share;
    return mtlm_work_seconds(&one, config) <= seconds;
}

/* Returns whether the programs are worth an evaluation, by their stages. */
static bool stages_are_worth(const struct program_search *s,
                             const struct mtlm_program_config *config)
{
    double share[MTLM_HOLD_SEARCHED];
    const int n = mtlm_hold_searched_shares(config, s->search->waits, share);
    struct mtlm_work work;
    bool worthy = false;

    if (s->most_stages == INFINITY)
        return true;
    work = mtlm_work_create(config);
    for (int i = 0; i < n && !worthy; i++)
        worthy = stages_fit(&work, config, share[i], s->most_stages);
    mtlm_work_free(&work);
    return worthy;
}

/* Whether the programs need no more than the memory that there is. */
static bool fits(const struct program_search *s,
                 const struct mtlm_program_config *config)
{
    const double device = s->search->machine->cluster->memory_bytes;
    struct mtlm_outline outline;
    bool fit;

    if (mtlm_ring_memory(config) > config->act_mem * (1 + MTLM_MEMORY_ROUNDING))
        return false;
    if (device <= 0 || s->search->ignores_memory)
        return true;
    outline = mtlm_outline_create(config, 0);
    fit = mtlm_outline_gpu_bytes(&outline) <= device;
    mtlm_outline_destroy(&outline);
    return fit;
}

/* ---- candidates ---- */

static int kind_of(const struct mtlm_found_order *found)
{
    return found->order.ranks > 0 && found->follow == MTLM_FOLLOW_STRICT
               ? CHAINED
               : READY;
}

/* Takes over a candidate if its programs, which fit, are the shortest of their
 * kind so far; else frees its order. */
static void keep_shortest(struct program_search *s,
                          const struct mtlm_program_config *config,
                          struct mtlm_found_order found)
{
    struct program_choice *best = &s->best[kind_of(&found)];

    if (found.seconds > s->most
        || found.seconds >= best->found.seconds * (1 - MTLM_SECONDS_ROUNDING)) {
        mtlm_found_order_free(&found);
        return;
    }
    mtlm_found_order_free(&best->found);
    *best = (struct program_choice){found, config->window, config->act_mem};
}

/* Takes over the order, without ranks for windows, if its programs are the
 * shortest of their kind so far; else frees the order.  Returns whether the
 * programs fit. */
static bool note(struct program_search *s,
                 const struct mtlm_program_config *config,
                 struct mtlm_box_order order, enum mtlm_follow follow)
{
    struct mtlm_program_config one = *config;
    struct mtlm_found_order found = {.order = order,
                                     .follow = follow,
                                     .schedule = config->schedule,
                                     .layout = config->layout};
    bool fit;

    one.order = order.ranks > 0 ? &found.order : NULL;
    one.follow = follow;
    fit = fits(s, &one);
    found.seconds =
        fit && stages_are_worth(s, &one) ? seconds_of(s, &one) : INFINITY;
    keep_shortest(s, config, found);
    return fit;
}

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
static bool try_windows(struct program_search *s,
                        const struct mtlm_program_config *config, double alpha)
{
    struct mtlm_program_config one = *config;

    one.window = mtlm_search_alpha(alpha);
    mtlm_search_gradients(&one);
    return note(s, &one, (struct mtlm_box_order){0}, MTLM_FOLLOW_WINDOWS);
}

/* Returns whether any of the programs fit. */
static bool try_all_windows(struct program_search *s,
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
static void try_less_memory(struct program_search *s,
                            const struct mtlm_program_config *config)
{
    struct mtlm_program_config one = *config;
    bool fit = false;

    for (int part = PARTS - 1; part > 0 && !fit; part--) {
        one.act_mem = config->act_mem * part / PARTS;
        fit = try_all_windows(s, &one);
    }
}

static void try_published(struct program_search *s,
                          const struct mtlm_program_config *config,
                          const struct mtlm_published *published)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    if (!published || mtlm_published_lacks(published, &boxes))
        return;
    note(s, config, mtlm_order_build(published, config), MTLM_FOLLOW_HINT);
    note(s, config, mtlm_order_build(published, config), MTLM_FOLLOW_STRICT);
}

static void try_schedule(struct program_search *s,
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
        note(s, config, found.order, MTLM_FOLLOW_HINT);
    try_published(s, config, published);
}

static void try_kind(struct program_search *s,
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
    struct program_search *s = arg;
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

/* ---- the search ---- */

static struct program_search create_search(
    const struct mtlm_search_program *search,
    const struct mtlm_program_config *config)
{
    const int64_t nodes = mtlm_pipeline_programs_nodes(config);
    const int64_t few =
        fmax(ENOUGH * config->layout.pp, (double) MTLM_MANY_NODES / nodes);

    return (struct program_search){
        .search = search, .microbatches = fmin(config->microbatches, few)};
}

/* Sets seconds and too_large of a choice that was made by stages.  gradients:
 * windows get the slots of gradients of a search. */
static void evaluate_choice(const struct program_search *s,
                            const struct mtlm_program_config *config,
                            bool gradients, struct mtlm_found_order *choice)
{
    struct mtlm_program_config one = *config;
    struct mtlm_stage_times times;

    one.schedule = choice->schedule;
    one.layout = choice->layout;
    mtlm_stage_cost_take(s->search->machine, &one, &times);
    mtlm_activation_memory_measure(&one);
    if (choice->order.ranks > 0) {
        one.order = &choice->order;
        one.follow = choice->follow;
    } else if (gradients) {
        mtlm_search_gradients(&one);
    }
    choice->seconds = seconds_of(s, &one);
    choice->late_seconds = 0;
    choice->too_large = !fits(s, &one);
    mtlm_activation_memory_free(&one.activation);
    mtlm_stage_times_free(&times);
}

/* Begins with the choice of the search before.  stages_s: its seconds by
 * stages. */
static void begin(struct program_search *s,
                  const struct mtlm_program_config *config,
                  const struct mtlm_found_order *found, double stages_s)
{
    struct program_choice *best = &s->best[kind_of(found)];
    const bool fit = !found->too_large;

    for (int i = 0; i < KINDS; i++)
        s->best[i].found.seconds = INFINITY;
    *best = (struct program_choice){*found, config->window, config->act_mem};
    best->found.seconds = fit ? found->seconds : INFINITY;
    s->tight = !fit;
    s->most = MTLM_WORTH_SHARE * best->found.seconds;
    s->most_stages = fit && config->layout.tp == 1 && stages_s > 0
                         ? stages_slack * stages_s
                         : INFINITY;
}

/* Returns the search with all microbatches. */
static struct program_search search_of_all(
    const struct program_search *s, const struct mtlm_program_config *config)
{
    struct program_search whole = *s;

    whole.microbatches = config->microbatches;
    return whole;
}

/* Evaluates the windows and the candidates of both kinds with all
 * microbatches. */
static void evaluate_all(const struct program_search *s,
                         const struct mtlm_program_config *config,
                         struct program_choice *best,
                         struct mtlm_found_order *windows)
{
    const struct program_search whole = search_of_all(s, config);

    evaluate_choice(&whole, config, true, windows);
    for (int i = 0; i < KINDS; i++) {
        struct mtlm_program_config one = *config;

        if (best[i].found.seconds == INFINITY)
            continue;
        one.window = best[i].window;
        one.act_mem = best[i].act_mem;
        evaluate_choice(&whole, &one, true, &best[i].found);
    }
}

/* Sets the seconds of what the search began with, as nothing fits.  begun: of
 * the first microbatches.  windows: evaluated with all if the search is
 * whole. */
static void evaluate_begun(const struct program_search *s,
                           const struct mtlm_program_config *config,
                           double begun, const struct mtlm_found_order *windows,
                           struct mtlm_found_order *found)
{
    const struct program_search whole = search_of_all(s, config);

    if (!s->search->whole || s->microbatches == config->microbatches)
        found->seconds = begun;
    else if (found->order.ranks == 0)
        found->seconds = windows->seconds;
    else
        evaluate_choice(&whole, config, true, found);
}

/* Sets the choice in config and *found: the shortest of both kinds, or what the
 * search began with if nothing fits. */
static void choose(struct program_search *s, struct mtlm_program_config *config,
                   struct mtlm_found_order *windows,
                   struct mtlm_found_order *found)
{
    struct program_choice *best = s->best;
    const double begun = found->seconds;
    /* The windows are not what the search began with. */
    const bool apart = found->order.ranks > 0 && !windows->too_large;
    int chosen = kind_of(found);

    if (s->microbatches < config->microbatches
        && (s->search->whole || apart
            || fmax(best[READY].found.seconds, best[CHAINED].found.seconds)
                   < INFINITY))
        evaluate_all(s, config, best, windows);
    if (apart
        && windows->seconds < MTLM_WORTH_SHARE
                                  * fmin(best[READY].found.seconds,
                                         best[CHAINED].found.seconds)) {
        mtlm_found_order_free(&best[READY].found);
        best[READY] =
            (struct program_choice){*windows, config->window, config->act_mem};
    }
    if (best[1 - chosen].found.seconds < best[chosen].found.seconds)
        chosen = 1 - chosen;
    mtlm_found_order_free(&best[1 - chosen].found);
    *found = best[chosen].found;
    config->layout = found->layout;
    config->window = best[chosen].window;
    config->act_mem = best[chosen].act_mem;
    if (found->seconds == INFINITY)
        evaluate_begun(s, config, begun, windows, found);
}

void mtlm_search_program(const struct mtlm_search_program *search,
                         struct mtlm_program_config *config,
                         struct mtlm_found_order *windows,
                         struct mtlm_found_order *found)
{
    struct program_search s = create_search(search, config);
    const double stages_s = found->seconds;

    evaluate_choice(&s, config, true, windows);
    if (found->order.ranks > 0)
        evaluate_choice(&s, config, true, found);
    else
        *found = *windows;
    begin(&s, config, found, stages_s);
    if (found->order.ranks > 0 && !windows->too_large)
        keep_shortest(&s, config, *windows);
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
    choose(&s, config, windows, found);
}

bool mtlm_search_program_allows(const struct mtlm_search_program *search,
                                const struct mtlm_program_config *config,
                                const struct mtlm_found_order *found)
{
    const struct program_search s = create_search(search, config);
    struct mtlm_found_order order = *found;
    struct mtlm_found_order windows = {.schedule = config->schedule,
                                       .layout = config->layout};

    evaluate_choice(&s, config, false, &windows);
    evaluate_choice(&s, config, false, &order);
    return order.seconds * MTLM_WORTH_SHARE <= windows.seconds;
}
