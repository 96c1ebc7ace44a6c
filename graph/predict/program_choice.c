/* Evaluates programs for --schedule auto, and chooses among them. */

#include "config.h"

#include <math.h>

#include "graph/build/ring.h"
#include "graph/order/rounding.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/hold.h"
#include "graph/predict/limits.h"
#include "graph/predict/outline.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/program_choice.h"
#include "graph/predict/search.h"
#include "graph/predict/work.h"

/* Programs of more than MTLM_MANY_NODES are evaluated with fewer microbatches,
 * at least so many per pipeline rank. */
enum { ENOUGH = 2 };

/* Without tensor parallelism, programs take about what their stages do.  Then a
 * candidate's stages take at most so many times the time of the choice's. */
static const double stages_slack = 1.02;

/* ---- evaluation ---- */

/* Returns the seconds of an iteration of the programs. */
static double seconds_of(const struct mtlm_program_choice *s,
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
static bool stages_are_worth(const struct mtlm_program_choice *s,
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
static bool fits(const struct mtlm_program_choice *s,
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

struct mtlm_program_choice mtlm_program_choice_create(
    const struct mtlm_search_program *search,
    const struct mtlm_program_config *config)
{
    const int64_t nodes = mtlm_pipeline_programs_nodes(config);
    const int64_t few =
        fmax(ENOUGH * config->layout.pp, (double) MTLM_MANY_NODES / nodes);

    return (struct mtlm_program_choice){
        .search = search, .microbatches = fmin(config->microbatches, few)};
}

void mtlm_program_choice_evaluate(const struct mtlm_program_choice *s,
                                  const struct mtlm_program_config *config,
                                  bool gradients,
                                  struct mtlm_found_order *choice)
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

/* ---- candidates ---- */

static int kind_of(const struct mtlm_found_order *found)
{
    return found->order.ranks > 0 && found->follow == MTLM_FOLLOW_STRICT
               ? MTLM_CHOICE_CHAINED
               : MTLM_CHOICE_READY;
}

/* Takes over a candidate if its programs, which fit, are the shortest of their
 * kind so far; else frees its order. */
static void keep_shortest(struct mtlm_program_choice *s,
                          const struct mtlm_program_config *config,
                          struct mtlm_found_order found)
{
    struct mtlm_program_candidate *best = &s->best[kind_of(&found)];

    if (found.seconds > s->most
        || found.seconds >= best->found.seconds * (1 - MTLM_SECONDS_ROUNDING)) {
        mtlm_found_order_free(&found);
        return;
    }
    mtlm_found_order_free(&best->found);
    *best =
        (struct mtlm_program_candidate){found, config->window, config->act_mem};
}

bool mtlm_program_choice_note(struct mtlm_program_choice *s,
                              const struct mtlm_program_config *config,
                              struct mtlm_box_order order,
                              enum mtlm_follow follow)
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

/* ---- the choice ---- */

/* Sets the first candidate, and what others must beat.  stages_s: its seconds
 * by stages. */
static void set_first(struct mtlm_program_choice *s,
                      const struct mtlm_program_config *config,
                      const struct mtlm_found_order *found, double stages_s)
{
    struct mtlm_program_candidate *best = &s->best[kind_of(found)];
    const bool fit = !found->too_large;

    for (int i = 0; i < MTLM_CHOICE_KINDS; i++)
        s->best[i].found.seconds = INFINITY;
    *best = (struct mtlm_program_candidate){*found, config->window,
                                            config->act_mem};
    best->found.seconds = fit ? found->seconds : INFINITY;
    s->tight = !fit;
    s->most = MTLM_WORTH_SHARE * best->found.seconds;
    s->most_stages = fit && config->layout.tp == 1 && stages_s > 0
                         ? stages_slack * stages_s
                         : INFINITY;
}

void mtlm_program_choice_begin(struct mtlm_program_choice *s,
                               const struct mtlm_program_config *config,
                               struct mtlm_found_order *windows,
                               struct mtlm_found_order *found)
{
    const double stages_s = found->seconds;

    mtlm_program_choice_evaluate(s, config, true, windows);
    if (found->order.ranks > 0)
        mtlm_program_choice_evaluate(s, config, true, found);
    else
        *found = *windows;
    set_first(s, config, found, stages_s);
    if (found->order.ranks > 0 && !windows->too_large)
        keep_shortest(s, config, *windows);
}

/* Returns the search with all microbatches. */
static struct mtlm_program_choice search_of_all(
    const struct mtlm_program_choice *s,
    const struct mtlm_program_config *config)
{
    struct mtlm_program_choice whole = *s;

    whole.microbatches = config->microbatches;
    return whole;
}

/* Evaluates the windows and the candidates of both kinds with all
 * microbatches. */
static void evaluate_all(const struct mtlm_program_choice *s,
                         const struct mtlm_program_config *config,
                         struct mtlm_program_candidate *best,
                         struct mtlm_found_order *windows)
{
    const struct mtlm_program_choice whole = search_of_all(s, config);

    mtlm_program_choice_evaluate(&whole, config, true, windows);
    for (int i = 0; i < MTLM_CHOICE_KINDS; i++) {
        struct mtlm_program_config one = *config;

        if (best[i].found.seconds == INFINITY)
            continue;
        one.window = best[i].window;
        one.act_mem = best[i].act_mem;
        mtlm_program_choice_evaluate(&whole, &one, true, &best[i].found);
    }
}

/* Sets the seconds of what the search began with, as nothing fits.  begun: of
 * the first microbatches.  windows: evaluated with all if the search is
 * whole. */
static void evaluate_begun(const struct mtlm_program_choice *s,
                           const struct mtlm_program_config *config,
                           double begun, const struct mtlm_found_order *windows,
                           struct mtlm_found_order *found)
{
    const struct mtlm_program_choice whole = search_of_all(s, config);

    if (!s->search->whole || s->microbatches == config->microbatches)
        found->seconds = begun;
    else if (found->order.ranks == 0)
        found->seconds = windows->seconds;
    else
        mtlm_program_choice_evaluate(&whole, config, true, found);
}

void mtlm_program_choice_choose(struct mtlm_program_choice *s,
                                struct mtlm_program_config *config,
                                struct mtlm_found_order *windows,
                                struct mtlm_found_order *found)
{
    struct mtlm_program_candidate *best = s->best;
    const double begun = found->seconds;
    /* The windows are not what the search began with. */
    const bool apart = found->order.ranks > 0 && !windows->too_large;
    int chosen = kind_of(found);

    if (s->microbatches < config->microbatches
        && (s->search->whole || apart
            || fmax(best[MTLM_CHOICE_READY].found.seconds,
                    best[MTLM_CHOICE_CHAINED].found.seconds)
                   < INFINITY))
        evaluate_all(s, config, best, windows);
    if (apart
        && windows->seconds
               < MTLM_WORTH_SHARE
                     * fmin(best[MTLM_CHOICE_READY].found.seconds,
                            best[MTLM_CHOICE_CHAINED].found.seconds)) {
        mtlm_found_order_free(&best[MTLM_CHOICE_READY].found);
        best[MTLM_CHOICE_READY] = (struct mtlm_program_candidate){
            *windows, config->window, config->act_mem};
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
