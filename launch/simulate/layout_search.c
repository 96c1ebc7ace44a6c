/* Lists the layouts of a job, orders them by an estimate, and simulates the
 * first ones that fit. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/build/stage.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/message_cost.h"
#include "graph/predict/outline.h"
#include "graph/predict/profile.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_simulate.h"
#include "launch/plan/layout_table.h"
#include "launch/plan/order_fit.h"
#include "launch/plan/step.h"
#include "launch/simulate/folded_run.h"
#include "launch/simulate/further_microbatch.h"
#include "launch/simulate/layout_estimate.h"
#include "launch/simulate/layout_search.h"
#include "launch/simulate/simulate_size.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"

enum { SIMULATED = 24 };

/* A pipeline rank has at most so many virtual stages, and a microbatch so many
 * samples, unless given. */
enum { MOST_STAGES = 4, MOST_SAMPLES = 16 };

/* Of an iteration of more tasks, so many microbatches are simulated, up to a
 * multiple of 3 p. */
enum { MANY_TASKS = 300000, FEW_MICROBATCHES = 96 };

struct search {
    const struct mtlm_options *options;
    const struct mtlm_wish *wish;
    const struct mtlm_hosts *hosts;
    const struct mtlm_cluster *cluster;
    struct mtlm_layout_estimate *estimate;
    bool follows; /* the order of a published schedule */
    bool recompute_free;
    struct mtlm_layout_found *list; /* [n] all layouts */
    int n;
    struct mtlm_layout_search result;
};

/* Returns the wish with virtual stages, recomputation and windows of the
 * layout. */
static struct mtlm_wish wish_of(const struct search *s,
                                const struct mtlm_layout_found *f)
{
    struct mtlm_wish wish = *s->wish;

    if (wish.stages.virtual_stages == 0 && f->virtual_stages > 1)
        wish.stages.virtual_stages = f->virtual_stages;
    wish.config.schedule = mtlm_options_simulate_schedule(
        s->options, wish.config.schedule, f->virtual_stages);
    wish.config.recompute.granularity = f->granularity;
    if (f->window > 0)
        wish.config.window = f->window;
    return wish;
}

/* Returns the order that the layout follows; NULL: none. */
static const struct mtlm_published *order_of(
    const struct search *s, const struct mtlm_program_config *config)
{
    return s->follows && config->layout.pp > 1
               ? mtlm_published_find(config->schedule->name)
               : NULL;
}

static struct mtlm_program_config config_of(const struct search *s,
                                            const struct mtlm_layout_found *f)
{
    const struct mtlm_wish wish = wish_of(s, f);

    return mtlm_wish_config(&wish, f->tp, f->pp, f->dp, f->micro_batch);
}

/* ---- the list ---- */

/* Returns whether the order, and the code of a profile, exist for config. */
static bool can_follow(const struct search *s,
                       const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    const struct mtlm_published *order = order_of(s, config);
    const struct mtlm_profile *profile = s->cluster->profile;

    if (profile && mtlm_profile_lacks(profile, config, s->cluster->overlaps))
        return false;
    return !order || !mtlm_published_lacks(order, &boxes);
}

/* Adds the layout if the job can have it. */
static void add_layout(struct search *s, struct mtlm_layout_found f)
{
    const struct mtlm_wish wish = wish_of(s, &f);
    struct mtlm_program_config config;

    if (!mtlm_choose_possible(&wish, f.tp * f.pp, f.tp))
        return;
    config = config_of(s, &f);
    if (!mtlm_stage_rows_fit(&config)
        || !mtlm_schedule_fits(config.schedule, &config.layout)
        || !can_follow(s, &config))
        return;
    f.virtual_stages = config.layout.virtual_stages;
    f.samples = config.microbatches * f.micro_batch * f.dp;
    f.unlike = !mtlm_message_cost_is_alike(s->cluster, &config.layout);
    f.estimated_s = mtlm_layout_estimate_seconds(s->estimate, &config);
    s->list = mtlm_realloc(s->list, s->n + 1, sizeof(*s->list));
    s->list[s->n++] = f;
}

/* Adds the layout with each recomputation. */
static void add_recomputations(struct search *s, struct mtlm_layout_found f)
{
    const int given = s->wish->config.recompute.granularity;

    for (int g = MTLM_RECOMPUTE_NONE; g <= MTLM_RECOMPUTE_FULL; g++) {
        f.granularity = g;
        if (s->recompute_free || g == given)
            add_layout(s, f);
    }
}

/* Adds the layout with each micro batch. */
static void add_micro_batches(struct search *s, struct mtlm_layout_found f)
{
    const int64_t given = s->wish->config.micro_batch;
    const bool free = s->wish->micro_batch_free;

    for (f.micro_batch = free ? 1 : given;
         f.micro_batch <= (free ? MOST_SAMPLES : given); f.micro_batch *= 2)
        if (mtlm_wish_can_share(s->wish, f.dp, f.micro_batch))
            add_recomputations(s, f);
}

/* Adds the layout with each number of virtual stages.  Several stages of a rank
 * have equally many layers. */
static void add_virtual_stages(struct search *s, struct mtlm_layout_found f)
{
    const struct mtlm_stage_wish *stages = &s->wish->stages;
    const bool free = stages->virtual_stages == 0
                      && stages->layers_per_stage == 0 && !stages->layers;
    const int64_t layers = s->wish->config.model.num_layers;

    for (f.virtual_stages = 1;
         f.virtual_stages <= (free && f.pp > 1 ? MOST_STAGES : 1);
         f.virtual_stages++)
        if (f.virtual_stages == 1 || layers % (f.virtual_stages * f.pp) == 0)
            add_micro_batches(s, f);
}

static void list_layouts(struct search *s)
{
    const int ranks = s->hosts->ranks;
    const struct mtlm_model *model = &s->wish->config.model;
    const int64_t most =
        mtlm_stage_wish_most_ranks(&s->wish->stages, model->num_layers);

    for (int t = 1; t <= ranks && t <= model->num_heads; t++)
        for (int p = 1; ranks % t == 0 && p <= most; p++)
            if (ranks / t % p == 0)
                add_virtual_stages(s,
                                   (struct mtlm_layout_found){
                                       .tp = t, .pp = p, .dp = ranks / t / p});
}

/* By the time of a sample; behind all others, layouts whose groups lie unlike
 * on the hosts. */
static int by_estimate(const void *a, const void *b)
{
    const struct mtlm_layout_found *x = a, *y = b;

    if (x->unlike != y->unlike)
        return x->unlike ? 1 : -1;
    return mtlm_compare_real(x->estimated_s / x->samples,
                             y->estimated_s / y->samples);
}

static int by_seconds(const void *a, const void *b)
{
    const struct mtlm_layout_found *x = a, *y = b;

    return mtlm_compare_real(x->seconds / x->samples, y->seconds / y->samples);
}

/* ---- simulations ---- */

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
static bool first_rank_fits(const struct search *s,
                            const struct mtlm_program_config *config)
{
    const struct mtlm_plan plan = mtlm_outline_stage(config, 0, 0);

    return mtlm_plan_gpu_bytes(&plan) <= s->hosts->available;
}

/* Returns whether a run would take config's order: within --act-mem, and on the
 * first rank within the memory of a device. */
static bool order_fits(const struct search *s,
                       const struct mtlm_program_config *config)
{
    struct mtlm_error ignored;

    if (config->act_mem > 0
        && (mtlm_order_fit_act_mem(s->options, config, &ignored) < 0
            || mtlm_ring_check(config, &ignored) < 0))
        return false;
    return first_rank_fits(s, config);
}

/* Sets the seconds of the layout, and raises its memory to that of config,
 * which has all microbatches of an iteration, or some.  phased: of
 * mtlm_further_microbatch_seconds().  Returns false if the layout does not
 * fit. */
static bool evaluate_config(const struct search *s,
                            const struct mtlm_program_config *config,
                            int64_t microbatches, bool phased,
                            struct mtlm_layout_found *f)
{
    struct mtlm_folded_run run = mtlm_folded_run_create(config, s->cluster);
    bool fits;

    f->memory_bytes = fmax(f->memory_bytes, mtlm_folded_run_memory(&run));
    fits = f->memory_bytes <= s->hosts->available;
    if (fits) {
        mtlm_folded_run_evaluate(&run,
                                 s->options->transport == MTLM_USE_SERIAL);
        f->seconds = 1e-9 * run.execution.makespan_ns;
        if (!f->whole)
            f->seconds += (microbatches - config->microbatches)
                          * mtlm_further_microbatch_seconds(
                              &run.execution, &config->layout,
                              config->microbatches, phased);
    }
    mtlm_folded_run_free(&run);
    return fits;
}

/* Sets memory and seconds of the layout.  whole: simulates all microbatches.
 * Returns false if the layout does not fit. */
static bool simulate_config(const struct search *s,
                            struct mtlm_program_config config, bool whole,
                            struct mtlm_layout_found *f)
{
    const int64_t m = config.microbatches;
    const struct mtlm_published *published = order_of(s, &config);
    const bool phased = mtlm_further_microbatch_phased(&config, published);
    /* For mtlm_further_microbatch_seconds(). */
    const int64_t few = mtlm_round_up(FEW_MICROBATCHES, 3 * f->pp);
    struct mtlm_box_order order;
    bool fits;

    f->whole = whole || f->tasks <= MANY_TASKS || m <= few;
    f->memory_bytes = !f->whole && phased ? whole_memory(&config) : 0;
    if (!f->whole)
        config.microbatches = few;
    if (published) {
        order = mtlm_order_build(published, &config);
        config.order = &order;
    }
    fits = (!published || order_fits(s, &config))
           && evaluate_config(s, &config, m, phased, f);
    if (published)
        mtlm_order_free(&order);
    return fits;
}

/* Returns the windows that a run of the layout would take. */
static double window_of(const struct search *s,
                        const struct mtlm_layout_found *f)
{
    struct mtlm_layout_found unset = *f;
    struct mtlm_wish wish;

    unset.window = 0;
    wish = wish_of(s, &unset);
    return mtlm_choose_window(&wish, s->hosts, f->tp, f->pp, f->micro_batch);
}

/* Sets seconds and memory of the layout.  Returns false if the layout does not
 * fit: by the sizes alone, by its first stage, or by another one.  An order
 * may need less than the windows here: simulate_config() asks then. */
static bool simulate_layout(const struct search *s, bool whole,
                            struct mtlm_layout_found *f)
{
    struct mtlm_program_config config = config_of(s, f);
    const struct mtlm_stage_cost machine = {
        .cluster = s->cluster, .stretch = 1, .slow_rank = -1};
    struct mtlm_stage_times times;
    struct mtlm_error err;
    bool fits = false;

    if (mtlm_plan_lower_bound(&config, true) > s->hosts->available)
        return false;
    f->window = window_of(s, f);
    config = config_of(s, f);
    mtlm_activation_memory_measure(&config);
    mtlm_stage_cost_take(&machine, &config, &times); /* for windows */
    if (mtlm_ring_check(&config, &err) == 0
        && (order_of(s, &config) || first_rank_fits(s, &config))) {
        f->tasks = mtlm_simulate_size_tasks(&config);
        fits = simulate_config(s, config, whole, f);
    }
    mtlm_stage_times_free(&times);
    mtlm_activation_memory_free(&config.activation);
    return fits;
}

/* Returns whether a simulated layout differs in less recomputation only: that
 * one is faster.  A limit of activations, or of memory, may narrow its
 * windows. */
static bool is_known_slower(const struct search *s,
                            const struct mtlm_layout_found *f)
{
    if (s->wish->config.act_mem > 0)
        return false;
    for (int i = 0; i < s->result.n; i++) {
        const struct mtlm_layout_found *x = &s->result.found[i];

        if (x->tp == f->tp && x->pp == f->pp
            && x->virtual_stages == f->virtual_stages
            && x->micro_batch == f->micro_batch
            && x->granularity < f->granularity && x->window == window_of(s, f))
            return true;
    }
    return false;
}

static void simulate_layouts(struct search *s)
{
    struct mtlm_layout_search *r = &s->result;

    r->found = mtlm_calloc(SIMULATED, sizeof(*r->found));
    for (int i = 0; i < s->n && r->n < SIMULATED; i++) {
        char *step;

        if (s->list[i].unlike && r->n > 0 && !r->found[0].unlike)
            break;
        step =
            mtlm_sprintf("simulating layouts: %d of %d", r->n + 1, SIMULATED);
        mtlm_step_show(step);
        free(step);
        if (!is_known_slower(s, &s->list[i])
            && simulate_layout(s, false, &s->list[i]))
            r->found[r->n++] = s->list[i];
    }
    qsort(r->found, r->n, sizeof(*r->found), by_seconds);
    /* The fastest one is known, not extrapolated. */
    while (r->n > 0 && !r->found[0].whole
           && mtlm_simulate_size_fits(s->options, r->found[0].tasks)) {
        mtlm_step_show("simulating the fastest layout whole");
        if (!simulate_layout(s, true, &r->found[0]))
            r->found[0] = r->found[--r->n]; /* does not fit */
        qsort(r->found, r->n, sizeof(*r->found), by_seconds);
    }
    mtlm_step_clear();
}

struct mtlm_layout_search mtlm_layout_search_make(
    const struct mtlm_options *options, const struct mtlm_wish *wish,
    const struct mtlm_hosts *hosts, const struct mtlm_cluster *cluster)
{
    struct search s = {.options = options,
                       .wish = wish,
                       .hosts = hosts,
                       .cluster = cluster,
                       .estimate = mtlm_layout_estimate_create(wish, cluster),
                       .follows = mtlm_options_schedule_follows(options),
                       .recompute_free = !mtlm_options_given(
                           options, MTLM_OPT_RECOMPUTE_GRANULARITY)};

    mtlm_step_show("listing layouts");
    list_layouts(&s);
    s.result.weighed = s.n;
    if (s.n > 0)
        qsort(s.list, s.n, sizeof(*s.list), by_estimate);
    simulate_layouts(&s);
    mtlm_layout_estimate_destroy(s.estimate);
    free(s.list);
    return s.result;
}

void mtlm_layout_search_take(const struct mtlm_layout_search *search,
                             struct mtlm_options *options,
                             struct mtlm_wish *wish, struct mtlm_choice *choice)
{
    const struct mtlm_layout_found *f = &search->found[0];

    if (wish->stages.virtual_stages == 0 && f->virtual_stages > 1)
        wish->stages.virtual_stages = options->virtual_stages =
            f->virtual_stages;
    wish->config.schedule = mtlm_options_simulate_schedule(
        options, wish->config.schedule, f->virtual_stages);
    options->schedule = wish->config.schedule - mtlm_schedules;
    wish->config.recompute.granularity = f->granularity;
    options->recompute.granularity = f->granularity;
    options->micro_batch_size = f->micro_batch;
    *choice = (struct mtlm_choice){.tp = f->tp,
                                   .pp = f->pp,
                                   .dp = f->dp,
                                   .virtual_stages = f->virtual_stages,
                                   .micro_batch = f->micro_batch,
                                   .samples = f->samples,
                                   .window = f->window,
                                   .fits = true,
                                   .need = f->memory_bytes,
                                   .seconds = f->seconds};
}

void mtlm_layout_search_print(const struct mtlm_layout_search *search,
                              const struct mtlm_hosts *hosts, FILE *out)
{
    struct mtlm_layout_row *rows = mtlm_calloc(search->n, sizeof(*rows));

    for (int i = 0; i < search->n; i++) {
        const struct mtlm_layout_found *f = &search->found[i];

        rows[i] = (struct mtlm_layout_row){.tp = f->tp,
                                           .pp = f->pp,
                                           .dp = f->dp,
                                           .virtual_stages = f->virtual_stages,
                                           .micro_batch = f->micro_batch,
                                           .granularity = f->granularity,
                                           .seconds = f->seconds,
                                           .samples = f->samples,
                                           .memory_bytes = f->memory_bytes};
    }
    fprintf(out,
            "\nFastest layouts, of %d weighed and %d simulated%s; v: virtual "
            "stages of a rank, b: micro batch\n",
            search->weighed, search->n,
            isinf(hosts->available) ? ", without a limit of memory" : "");
    mtlm_layout_table_print(rows, search->n, out);
    free(rows);
}

void mtlm_layout_search_free(struct mtlm_layout_search *search)
{
    free(search->found);
    search->found = NULL;
    search->n = 0;
}
