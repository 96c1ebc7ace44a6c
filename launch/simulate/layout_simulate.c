/* Simulates a layout of a search: whole, or in parts. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/exposure.h"
#include "graph/predict/outline.h"
#include "launch/plan/order_fit.h"
#include "launch/simulate/folded_run.h"
#include "launch/simulate/further_microbatch.h"
#include "launch/simulate/layout_simulate.h"
#include "launch/simulate/simulate_size.h"
#include "runtime/base/memory.h"

/* Of an iteration of more tasks, only some microbatches are simulated. */
enum { MANY_TASKS = 300000 };

/* Returns the memory of the fullest rank with all microbatches. */
static double whole_memory(const struct mtlm_program_config *config)
{
    double most = 0;

    for (int k = 0; k < config->layout.pp; k++) {
        const struct mtlm_plan plan = mtlm_outline_stage(config, k, 0);

        most = fmax(most, mtlm_plan_gpu_bytes(&plan));
    }
    return most;
}

/* Returns whether the first rank fits: much faster to find than for all. */
static bool first_rank_fits(const struct mtlm_layout_list *list,
                            const struct mtlm_program_config *config)
{
    const struct mtlm_plan plan = mtlm_outline_stage(config, 0, 0);

    return mtlm_plan_gpu_bytes(&plan) <= list->hosts->available;
}

/* Returns whether this machine has the memory for so many tasks, or passes of
 * an order, of so many microbatches.  Else sets the refusal. */
static bool has_room(const struct mtlm_layout_found *f, int64_t microbatches,
                     double n, const char *what,
                     struct mtlm_layout_refusal *refusal)
{
    if (mtlm_simulate_size_evaluates(n))
        return true;
    mtlm_error_set(&refusal->size, MTLM_EXIT_RESOURCE,
                   "tensor %d x pipeline %d x data %d, micro batch %" PRId64
                   ": %" PRId64 " microbatches have about %.3g %s, too many to "
                   "simulate on this machine",
                   f->tp, f->pp, f->dp, f->micro_batch, microbatches, n, what);
    return false;
}

/* Returns whether this machine can simulate the layout: all microbatches, or
 * the larger part. */
static bool can_simulate(const struct mtlm_program_config *config,
                         const struct mtlm_layout_found *f,
                         struct mtlm_layout_refusal *refusal)
{
    struct mtlm_program_config part = *config;

    if (f->whole)
        return has_room(f, config->microbatches, f->tasks, "tasks", refusal);
    if (mtlm_simulate_size_evaluates(f->tasks)) /* much faster to find */
        return true;
    part.microbatches = mtlm_further_microbatch_of(f->pp).more;
    return has_room(f, part.microbatches, mtlm_simulate_size_tasks(&part),
                    "tasks", refusal);
}

/* Returns whether this machine can build the order of all microbatches.  A pass
 * takes less memory than a task. */
static bool can_order(const struct mtlm_program_config *config,
                      const struct mtlm_layout_found *f,
                      struct mtlm_layout_refusal *refusal)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    return has_room(f, config->microbatches, mtlm_boxes_count(&boxes),
                    "passes of an order", refusal);
}

/* Returns whether a run would take config's order: within --act-mem, else sets
 * the refusal; and on the first rank within the memory of a device. */
static bool order_fits(const struct mtlm_layout_list *list,
                       const struct mtlm_program_config *config,
                       struct mtlm_layout_refusal *refusal)
{
    if (config->act_mem > 0
        && (mtlm_order_fit_act_mem(list->options, config, &refusal->act_mem) < 0
            || mtlm_ring_check(config, &refusal->act_mem) < 0))
        return false;
    return first_rank_fits(list, config);
}

/* Returns whether a run would take the order of all microbatches, and sets the
 * memory of the layout. */
static bool whole_order_fits(const struct mtlm_layout_list *list,
                             struct mtlm_program_config config,
                             struct mtlm_layout_found *f,
                             struct mtlm_layout_refusal *refusal)
{
    struct mtlm_box_order order =
        mtlm_order_build(mtlm_layout_list_order(list, &config), &config);
    bool fits;

    config.order = &order;
    fits = order_fits(list, &config, refusal);
    f->memory_bytes = whole_memory(&config);
    mtlm_order_free(&order);
    return fits;
}

/* An evaluated iteration. */
struct evaluated {
    double seconds;
    double *busy;  /* [p] worker seconds of computation */
    double *turns; /* [p][MTLM_EXPOSURE_LANES] seconds of collectives */
    double hold;   /* as in struct mtlm_folded_run */
};

static void free_evaluated(struct evaluated *e)
{
    free(e->busy);
    free(e->turns);
}

static void evaluate_run(struct mtlm_folded_run *run, bool serial,
                         struct evaluated *e)
{
    mtlm_folded_run_evaluate(run, serial);
    *e = (struct evaluated){
        .seconds = 1e-9 * run->execution.makespan_ns,
        .busy = mtlm_exposure_busy(&run->execution, run->programs.n),
        .turns = mtlm_exposure_turns(&run->execution, run->programs.n,
                                     serial ? MTLM_TURNS_ALL
                                            : MTLM_TURNS_LANE),
        .hold = run->hold};
}

/* Evaluates config, which has all microbatches of an iteration, or some, and
 * raises the memory of the layout to that of config.  published: the order that
 * the ranks follow; NULL: none.  like: an evaluation whose hold counts; NULL:
 * hold is chosen.  Returns false if the layout does not fit; may set refusal.
 * The caller frees e with free_evaluated(). */
static bool evaluate_config(const struct mtlm_layout_list *list,
                            struct mtlm_program_config config,
                            const struct mtlm_published *published,
                            const struct evaluated *like,
                            struct mtlm_layout_found *f, struct evaluated *e,
                            struct mtlm_layout_refusal *refusal)
{
    struct mtlm_box_order order;
    struct mtlm_folded_run run;
    bool fits = true;

    *e = (struct evaluated){0};
    if (published) {
        order = mtlm_order_build(published, &config);
        config.order = &order;
        fits = order_fits(list, &config, refusal);
    }
    if (fits) {
        run = mtlm_folded_run_create(&config, list->cluster);
        run.hold_given = like;
        run.hold = like ? like->hold : 0;
        f->memory_bytes = fmax(f->memory_bytes, mtlm_folded_run_memory(&run));
        fits = f->memory_bytes <= list->hosts->available;
        if (fits)
            evaluate_run(&run, list->options->transport == MTLM_USE_SERIAL, e);
        mtlm_folded_run_free(&run);
    }
    if (published)
        mtlm_order_free(&order);
    return fits;
}

/* Returns the most seconds by which `more` exceeds `less` in the work of a
 * rank, or in its collectives that take turns. */
static double further_work(const struct evaluated *more,
                           const struct evaluated *less,
                           const struct mtlm_layout *layout)
{
    double seconds = 0;

    for (int r = 0; r < layout->pp; r++)
        seconds =
            fmax(seconds, (more->busy[r] - less->busy[r]) / layout->workers);
    for (int i = 0; i < layout->pp * MTLM_EXPOSURE_LANES; i++)
        seconds = fmax(seconds, more->turns[i] - less->turns[i]);
    return seconds;
}

/* As simulate_config(), by two parts.  The pace of the parts may be too fast:
 * their W may wait until the end.  In the long run no rank gets ahead of its
 * work, nor of its collectives. */
static bool simulate_parts(const struct mtlm_layout_list *list,
                           struct mtlm_program_config config,
                           const struct mtlm_published *published,
                           struct mtlm_layout_found *f,
                           struct mtlm_layout_refusal *refusal)
{
    const struct mtlm_further_microbatch n = mtlm_further_microbatch_of(f->pp);
    const bool shows = published || mtlm_further_microbatch_shows(&config);
    const int64_t m = config.microbatches;
    struct evaluated more = {0}, less = {0};
    bool fits;

    config.microbatches = n.more;
    fits = evaluate_config(list, config, published, NULL, f, &more, refusal);
    config.microbatches = n.less;
    if (fits)
        fits =
            evaluate_config(list, config, published, &more, f, &less, refusal);
    if (fits) {
        double further = further_work(&more, &less, &config.layout);

        if (shows)
            further = fmax(further, more.seconds - less.seconds);
        f->seconds = more.seconds + (m - n.more) * further / (n.more - n.less);
    }
    free_evaluated(&more);
    free_evaluated(&less);
    return fits;
}

/* Simulates all microbatches. */
static bool simulate_whole(const struct mtlm_layout_list *list,
                           const struct mtlm_program_config *config,
                           const struct mtlm_published *published,
                           struct mtlm_layout_found *f,
                           struct mtlm_layout_refusal *refusal)
{
    struct evaluated e;
    const bool fits =
        evaluate_config(list, *config, published, NULL, f, &e, refusal);

    f->seconds = e.seconds;
    free_evaluated(&e);
    return fits;
}

/* Returns whether ranks that follow the order keep all microbatches. */
static bool keeps_all(const struct mtlm_published *published,
                      const struct mtlm_program_config *config)
{
    const struct mtlm_published_size size = {.p = config->layout.pp,
                                             .v = config->layout.virtual_stages,
                                             .m = config->microbatches};

    return published->memory(&size) >= size.m;
}

/* Sets memory and seconds of the layout.  whole: simulates all microbatches,
 * for which the caller has the memory.  Returns false if the layout does not
 * fit, or is too large for this machine; may set refusal. */
static bool simulate_config(const struct mtlm_layout_list *list,
                            const struct mtlm_program_config *config,
                            bool whole, struct mtlm_layout_found *f,
                            struct mtlm_layout_refusal *refusal)
{
    const struct mtlm_further_microbatch n = mtlm_further_microbatch_of(f->pp);
    const struct mtlm_published *published =
        mtlm_layout_list_order(list, config);

    /* Two parts of more microbatches cost more time than the whole, and less
     * memory. */
    f->whole = whole || f->tasks <= MANY_TASKS || config->microbatches <= n.more
               || (config->microbatches <= n.less + n.more
                   && mtlm_simulate_size_evaluates(f->tasks));
    f->memory_bytes = 0;
    if (!whole && !can_simulate(config, f, refusal))
        return false;
    if (f->whole)
        return simulate_whole(list, config, published, f, refusal);
    if (!published)
        f->memory_bytes = whole_memory(config);
    else if (keeps_all(published, config)
             && (!can_order(config, f, refusal)
                 || !whole_order_fits(list, *config, f, refusal)))
        return false;
    return simulate_parts(list, *config, published, f, refusal);
}

double mtlm_layout_simulate_window(const struct mtlm_layout_list *list,
                                   const struct mtlm_layout_found *f)
{
    struct mtlm_layout_found unset = *f;
    struct mtlm_wish wish;

    unset.window = 0;
    wish = mtlm_layout_list_wish(list, &unset);
    return mtlm_choose_window(&wish, list->hosts, f->tp, f->pp,
                              f->micro_batch);
}

/* Layouts are left out by the sizes alone, by their first stage, or by another
 * one.  An order may need less than the windows here: simulate_config() asks
 * then. */
bool mtlm_layout_simulate(const struct mtlm_layout_list *list, bool whole,
                          struct mtlm_layout_found *f,
                          struct mtlm_layout_refusal *refusal)
{
    struct mtlm_program_config config = mtlm_layout_list_config(list, f);
    const struct mtlm_stage_cost machine = {
        .cluster = list->cluster, .stretch = 1, .slow_rank = -1};
    struct mtlm_stage_times times;
    bool fits = false;

    if (mtlm_plan_lower_bound(&config, true) > list->hosts->available)
        return false;
    f->window = mtlm_layout_simulate_window(list, f);
    config = mtlm_layout_list_config(list, f);
    mtlm_activation_memory_measure(&config);
    mtlm_stage_cost_take(&machine, &config, &times); /* for windows */
    if (mtlm_ring_check(&config, &refusal->act_mem) == 0
        && (mtlm_layout_list_order(list, &config)
            || first_rank_fits(list, &config))) {
        f->tasks = mtlm_simulate_size_tasks(&config);
        fits = simulate_config(list, &config, whole, f, refusal);
    }
    mtlm_stage_times_free(&times);
    mtlm_activation_memory_free(&config.activation);
    return fits;
}
