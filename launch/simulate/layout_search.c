/* Simulates the layouts of a job that fit, those of the best estimates. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "launch/options/options_simulate.h"
#include "launch/plan/layout_table.h"
#include "launch/plan/step.h"
#include "launch/simulate/layout_search.h"
#include "launch/simulate/layout_simulate.h"
#include "launch/simulate/simulate_size.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

enum { SIMULATED = 24 };

struct search {
    struct mtlm_layout_list list;
    struct mtlm_layout_search result;
};

static int by_seconds(const void *a, const void *b)
{
    const struct mtlm_layout_found *x = a, *y = b;

    return mtlm_compare_real(x->seconds / x->samples, y->seconds / y->samples);
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
            && x->granularity < f->granularity
            && x->window == mtlm_layout_simulate_window(&s->list, f))
            return true;
    }
    return false;
}

/* Counts a refusal, and keeps the first of each kind. */
static void note_refusal(struct mtlm_layout_search *r,
                         const struct mtlm_layout_refusal *refusal)
{
    if (refusal->size.code != MTLM_EXIT_OK && r->too_large++ == 0)
        r->refusal.size = refusal->size;
    if (refusal->act_mem.code != MTLM_EXIT_OK
        && r->refusal.act_mem.code == MTLM_EXIT_OK)
        r->refusal.act_mem = refusal->act_mem;
}

static void simulate_layouts(struct search *s)
{
    struct mtlm_layout_search *r = &s->result;

    r->found = mtlm_calloc(SIMULATED, sizeof(*r->found));
    for (int i = 0; i < s->list.n && r->n < SIMULATED; i++) {
        struct mtlm_layout_refusal refusal = {0};
        char *step;

        if (s->list.layout[i].unlike && r->n > 0 && !r->found[0].unlike)
            break;
        step =
            mtlm_sprintf("simulating layouts: %d of %d", r->n + 1, SIMULATED);
        mtlm_step_show(step);
        free(step);
        if (!is_known_slower(s, &s->list.layout[i])
            && mtlm_layout_simulate(&s->list, false, &s->list.layout[i],
                                    &refusal))
            r->found[r->n++] = s->list.layout[i];
        note_refusal(r, &refusal);
    }
    qsort(r->found, r->n, sizeof(*r->found), by_seconds);
    /* The fastest one is known, not extrapolated. */
    while (r->n > 0 && !r->found[0].whole
           && mtlm_simulate_size_fits(s->list.options, r->found[0].tasks)) {
        mtlm_step_show("simulating the fastest layout whole");
        if (!mtlm_layout_simulate(&s->list, true, &r->found[0], &r->refusal))
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

/* Says what this machine could not simulate. */
static void print_size_notes(const struct mtlm_layout_search *search, FILE *out)
{
    if (search->too_large > 0)
        fprintf(out, "Left out: %d layout%s too large to simulate here.\n",
                search->too_large, mtlm_plural(search->too_large));
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
    print_size_notes(search, out);
    free(rows);
}

void mtlm_layout_search_free(struct mtlm_layout_search *search)
{
    free(search->found);
    search->found = NULL;
    search->n = 0;
}
