/* Simulates the layouts of a job that fit, those of the best estimates. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/exposure.h"
#include "graph/predict/outline.h"
#include "launch/options/options_simulate.h"
#include "launch/plan/layout_table.h"
#include "launch/plan/order_fit.h"
#include "launch/plan/step.h"
#include "launch/simulate/folded_run.h"
#include "launch/simulate/further_microbatch.h"
#include "launch/simulate/layout_search.h"
#include "launch/simulate/simulate_size.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

enum { SIMULATED = 24 };

/* Of an iteration of more tasks, only some microbatches are simulated. */
enum { MANY_TASKS = 300000 };

struct search {
    struct mtlm_layout_list list;
    struct mtlm_layout_search result;
};

static int by_seconds(const void *a, const void *b)
{
    const struct mtlm_layout_found *x = a, *y = b;

    return mtlm_compare_real(x->seconds / x->samples, y->seconds / y->samples);
}

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

    return mtlm_plan_gpu_bytes(&plan) <= s->list.hosts->available;
}

/* Returns whether a run would take config's order: within --act-mem, else sets
 * refusal; and on the first rank within the memory of a device. */
static bool order_fits(const struct search *s,
                       const struct mtlm_program_config *config,
                       struct mtlm_error *refusal)
{
    if (config->act_mem > 0
        && (mtlm_order_fit_act_mem(s->list.options, config, refusal) < 0
            || mtlm_ring_check(config, refusal) < 0))
        return false;
    return first_rank_fits(s, config);
}

/* Returns whether a run would take the order of all microbatches, and sets the
 * memory of the layout. */
static bool whole_order_fits(const struct search *s,
                             struct mtlm_program_config config,
                             struct mtlm_layout_found *f,
                             struct mtlm_error *refusal)
{
    struct mtlm_box_order order =
        mtlm_order_build(mtlm_layout_list_order(&s->list, &config), &config);
    bool fits;

    config.order = &order;
    fits = order_fits(s, &config, refusal);
    f->memory_bytes = whole_memory(&config);
    mtlm_order_free(&order);
    return fits;
}

/* An evaluated iteration. */
struct evaluated {
    double seconds;
    double *busy; /* [p] worker seconds of computation */
    double hold;  /* as in struct mtlm_folded_run */
};

/* Evaluates config, which has all microbatches of an iteration, or some, and
 * raises the memory of the layout to that of config.  published: the order that
 * the ranks follow; NULL: none.  like: an evaluation whose hold counts; NULL:
 * hold is chosen.  Returns false if the layout does not fit; may set refusal.
 * The caller frees e->busy. */
static bool evaluate_config(const struct search *s,
                            struct mtlm_program_config config,
                            const struct mtlm_published *published,
                            const struct evaluated *like,
                            struct mtlm_layout_found *f, struct evaluated *e,
                            struct mtlm_error *refusal)
{
    struct mtlm_box_order order;
    struct mtlm_folded_run run;
    bool fits = true;

    *e = (struct evaluated){0};
    if (published) {
        order = mtlm_order_build(published, &config);
        config.order = &order;
        fits = order_fits(s, &config, refusal);
    }
    if (fits) {
        run = mtlm_folded_run_create(&config, s->list.cluster);
        run.hold_given = like;
        run.hold = like ? like->hold : 0;
        f->memory_bytes = fmax(f->memory_bytes, mtlm_folded_run_memory(&run));
        fits = f->memory_bytes <= s->list.hosts->available;
        if (fits) {
            mtlm_folded_run_evaluate(&run, s->list.options->transport
                                               == MTLM_USE_SERIAL);
            *e = (struct evaluated){
                1e-9 * run.execution.makespan_ns,
                mtlm_exposure_busy(&run.execution, run.programs.n), run.hold};
        }
        mtlm_folded_run_free(&run);
    }
    if (published)
        mtlm_order_free(&order);
    return fits;
}

/* Returns by how many seconds the work of a rank in `more` exceeds that in
 * `less`, at most. */
static double further_work(const struct evaluated *more,
                           const struct evaluated *less,
                           const struct mtlm_layout *layout)
{
    double seconds = 0;

    for (int r = 0; r < layout->pp; r++)
        seconds =
            fmax(seconds, (more->busy[r] - less->busy[r]) / layout->workers);
    return seconds;
}

/* As simulate_config(), by two numbers of microbatches.  W may wait until the
 * end, but in the long run no rank gets ahead of its work. */
static bool simulate_few(const struct search *s,
                         struct mtlm_program_config config,
                         const struct mtlm_published *published,
                         struct mtlm_layout_found *f,
                         struct mtlm_error *refusal)
{
    const struct mtlm_further_microbatch n = mtlm_further_microbatch_of(f->pp);
    const bool shows = published || mtlm_further_microbatch_shows(&config);
    const int64_t m = config.microbatches;
    struct evaluated more = {0}, less = {0};
    bool fits;

    config.microbatches = n.few;
    fits = evaluate_config(s, config, published, NULL, f, &more, refusal);
    config.microbatches = n.less;
    fits =
        fits && evaluate_config(s, config, published, &more, f, &less, refusal);
    if (fits) {
        double further = further_work(&more, &less, &config.layout);

        if (shows)
            further = fmax(further, more.seconds - less.seconds);
        f->seconds = more.seconds + (m - n.few) * further / (n.few - n.less);
    }
    free(more.busy);
    free(less.busy);
    return fits;
}

/* Simulates all microbatches. */
static bool simulate_whole(const struct search *s,
                           const struct mtlm_program_config *config,
                           const struct mtlm_published *published,
                           struct mtlm_layout_found *f,
                           struct mtlm_error *refusal)
{
    struct evaluated e;
    const bool fits =
        evaluate_config(s, *config, published, NULL, f, &e, refusal);

    f->seconds = e.seconds;
    free(e.busy);
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

/* Sets memory and seconds of the layout.  whole: simulates all microbatches.
 * Returns false if the layout does not fit; may set refusal. */
static bool simulate_config(const struct search *s,
                            const struct mtlm_program_config *config,
                            bool whole, struct mtlm_layout_found *f,
                            struct mtlm_error *refusal)
{
    const struct mtlm_published *published =
        mtlm_layout_list_order(&s->list, config);

    f->whole = whole || f->tasks <= MANY_TASKS
               || config->microbatches <= mtlm_further_microbatch_of(f->pp).few;
    f->memory_bytes = 0;
    if (f->whole)
        return simulate_whole(s, config, published, f, refusal);
    if (!published)
        f->memory_bytes = whole_memory(config);
    else if (keeps_all(published, config)
             && !whole_order_fits(s, *config, f, refusal))
        return false;
    return simulate_few(s, *config, published, f, refusal);
}

/* Returns the windows that a run of the layout would take. */
static double window_of(const struct search *s,
                        const struct mtlm_layout_found *f)
{
    struct mtlm_layout_found unset = *f;
    struct mtlm_wish wish;

    unset.window = 0;
    wish = mtlm_layout_list_wish(&s->list, &unset);
    return mtlm_choose_window(&wish, s->list.hosts, f->tp, f->pp,
                              f->micro_batch);
}

/* Sets seconds and memory of the layout.  Returns false if the layout does not
 * fit: by the sizes alone, by its first stage, or by another one; or within
 * --act-mem, then sets refusal.  An order may need less than the windows here:
 * simulate_config() asks then. */
static bool simulate_layout(const struct search *s, bool whole,
                            struct mtlm_layout_found *f,
                            struct mtlm_error *refusal)
{
    struct mtlm_program_config config = mtlm_layout_list_config(&s->list, f);
    const struct mtlm_stage_cost machine = {
        .cluster = s->list.cluster, .stretch = 1, .slow_rank = -1};
    struct mtlm_stage_times times;
    bool fits = false;

    if (mtlm_plan_lower_bound(&config, true) > s->list.hosts->available)
        return false;
    f->window = window_of(s, f);
    config = mtlm_layout_list_config(&s->list, f);
    mtlm_activation_memory_measure(&config);
    mtlm_stage_cost_take(&machine, &config, &times); /* for windows */
    if (mtlm_ring_check(&config, refusal) == 0
        && (mtlm_layout_list_order(&s->list, &config)
            || first_rank_fits(s, &config))) {
        f->tasks = mtlm_simulate_size_tasks(&config);
        fits = simulate_config(s, &config, whole, f, refusal);
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
    const struct mtlm_program_config config =
        mtlm_layout_list_config(&s->list, f);

    if (config.act_mem > 0 && !mtlm_layout_list_order(&s->list, &config))
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
    for (int i = 0; i < s->list.n && r->n < SIMULATED; i++) {
        struct mtlm_error refusal = {.code = MTLM_EXIT_OK};
        char *step;

        if (s->list.layout[i].unlike && r->n > 0 && !r->found[0].unlike)
            break;
        step =
            mtlm_sprintf("simulating layouts: %d of %d", r->n + 1, SIMULATED);
        mtlm_step_show(step);
        free(step);
        if (!is_known_slower(s, &s->list.layout[i])
            && simulate_layout(s, false, &s->list.layout[i], &refusal))
            r->found[r->n++] = s->list.layout[i];
        if (refusal.code != MTLM_EXIT_OK && r->refusal.code == MTLM_EXIT_OK)
            r->refusal = refusal;
    }
    qsort(r->found, r->n, sizeof(*r->found), by_seconds);
    /* The fastest one is known, not extrapolated. */
    while (r->n > 0 && !r->found[0].whole
           && mtlm_simulate_size_fits(s->list.options, r->found[0].tasks)) {
        mtlm_step_show("simulating the fastest layout whole");
        if (!simulate_layout(s, true, &r->found[0], &r->refusal))
            r->found[0] = r->found[--r->n]; /* does not fit */
        qsort(r->found, r->n, sizeof(*r->found), by_seconds);
    }
    mtlm_step_clear();
}

struct mtlm_layout_search mtlm_layout_search_make(
    const struct mtlm_options *options, const struct mtlm_wish *wish,
    const struct mtlm_hosts *hosts, const struct mtlm_cluster *cluster)
{
    struct search s;

    mtlm_step_show("listing layouts");
    s = (struct search){
        .list = mtlm_layout_list_create(options, wish, hosts, cluster)};
    s.result.weighed = s.list.n;
    simulate_layouts(&s);
    mtlm_layout_list_destroy(&s.list);
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
