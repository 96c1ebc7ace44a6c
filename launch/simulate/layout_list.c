/* Lists the layouts of a job, and orders them by an estimate. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/stage.h"
#include "graph/predict/message_cost.h"
#include "graph/predict/profile.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_simulate.h"
#include "launch/simulate/layout_list.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* A pipeline rank has at most so many virtual stages, and a microbatch so many
 * samples, unless given. */
enum { MOST_STAGES = 4, MOST_SAMPLES = 16 };

struct mtlm_wish mtlm_layout_list_wish(const struct mtlm_layout_list *list,
                                       const struct mtlm_layout_found *f)
{
    struct mtlm_wish wish = *list->wish;

    if (wish.stages.virtual_stages == 0 && f->virtual_stages > 1)
        wish.stages.virtual_stages = f->virtual_stages;
    wish.config.schedule = mtlm_options_simulate_schedule(
        list->options, wish.config.schedule, f->virtual_stages);
    wish.config.recompute.granularity = f->granularity;
    if (f->window > 0)
        wish.config.window = f->window;
    return wish;
}

const struct mtlm_published *mtlm_layout_list_order(
    const struct mtlm_layout_list *list,
    const struct mtlm_program_config *config)
{
    return list->follows && config->layout.pp > 1
               ? mtlm_published_find(config->schedule->name)
               : NULL;
}

struct mtlm_program_config mtlm_layout_list_config(
    const struct mtlm_layout_list *list, const struct mtlm_layout_found *f)
{
    const struct mtlm_wish wish = mtlm_layout_list_wish(list, f);

    return mtlm_wish_config(&wish, f->tp, f->pp, f->dp, f->micro_batch);
}

/* Returns whether the order, and the code of a profile, exist for config. */
static bool can_follow(const struct mtlm_layout_list *list,
                       const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    const struct mtlm_published *order = mtlm_layout_list_order(list, config);
    const struct mtlm_profile *profile = list->cluster->profile;

    if (profile && mtlm_profile_lacks(profile, config, list->cluster->overlaps))
        return false;
    return !order || !mtlm_published_lacks(order, &boxes);
}

/* Adds the layout if the job can have it. */
static void add_layout(struct mtlm_layout_list *list,
                       struct mtlm_layout_found f)
{
    const struct mtlm_wish wish = mtlm_layout_list_wish(list, &f);
    struct mtlm_program_config config;

    if (!mtlm_choose_possible(&wish, f.tp * f.pp, f.tp))
        return;
    config = mtlm_layout_list_config(list, &f);
    if (!mtlm_stage_rows_fit(&config)
        || !mtlm_schedule_fits(config.schedule, &config.layout)
        || !can_follow(list, &config))
        return;
    f.virtual_stages = config.layout.virtual_stages;
    f.samples = config.microbatches * f.micro_batch * f.dp;
    f.unlike = !mtlm_message_cost_is_alike(list->cluster, &config.layout);
    f.estimated_s = mtlm_layout_estimate_seconds(list->estimate, &config);
    list->layout =
        mtlm_realloc(list->layout, list->n + 1, sizeof(*list->layout));
    list->layout[list->n++] = f;
}

/* Adds the layout with each recomputation. */
static void add_recomputations(struct mtlm_layout_list *list,
                               struct mtlm_layout_found f)
{
    const struct mtlm_program_config *config = &list->wish->config;
    const int given = config->recompute.granularity;
    /* Of a file of --config, which need not be for this model. */
    const bool too_many =
        config->recompute.num_layers > config->model.num_layers;

    for (int g = MTLM_RECOMPUTE_NONE; g <= MTLM_RECOMPUTE_FULL; g++) {
        f.granularity = g;
        if (list->recompute_free ? g != MTLM_RECOMPUTE_FULL || !too_many
                                 : g == given)
            add_layout(list, f);
    }
}

/* Adds the layout with each micro batch. */
static void add_micro_batches(struct mtlm_layout_list *list,
                              struct mtlm_layout_found f)
{
    const int64_t given = list->wish->config.micro_batch;
    const bool free = list->wish->micro_batch_free;

    for (f.micro_batch = free ? 1 : given;
         f.micro_batch <= (free ? MOST_SAMPLES : given); f.micro_batch *= 2)
        if (mtlm_wish_can_share(list->wish, f.dp, f.micro_batch))
            add_recomputations(list, f);
}

/* Adds the layout with each number of virtual stages.  Several stages of a rank
 * have equally many layers. */
static void add_virtual_stages(struct mtlm_layout_list *list,
                               struct mtlm_layout_found f)
{
    const struct mtlm_stage_wish *stages = &list->wish->stages;
    const bool free = stages->virtual_stages == 0
                      && stages->layers_per_stage == 0 && !stages->layers;
    const int64_t layers = list->wish->config.model.num_layers;

    for (f.virtual_stages = 1;
         f.virtual_stages <= (free && f.pp > 1 ? MOST_STAGES : 1);
         f.virtual_stages++)
        if (f.virtual_stages == 1 || layers % (f.virtual_stages * f.pp) == 0)
            add_micro_batches(list, f);
}

static void list_layouts(struct mtlm_layout_list *list)
{
    const int ranks = list->hosts->ranks;
    const struct mtlm_model *model = &list->wish->config.model;
    const int64_t most =
        mtlm_stage_wish_most_ranks(&list->wish->stages, model->num_layers);

    for (int t = 1; t <= ranks && t <= model->num_heads; t++)
        for (int p = 1; ranks % t == 0 && p <= most; p++)
            if (ranks / t % p == 0)
                add_virtual_stages(list,
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

struct mtlm_layout_list mtlm_layout_list_create(
    const struct mtlm_options *options, const struct mtlm_wish *wish,
    const struct mtlm_hosts *hosts, const struct mtlm_cluster *cluster)
{
    struct mtlm_layout_list list = {
        .options = options,
        .wish = wish,
        .hosts = hosts,
        .cluster = cluster,
        .estimate = mtlm_layout_estimate_create(wish, cluster),
        .follows = mtlm_options_schedule_follows(options),
        .recompute_free =
            !mtlm_options_given(options, MTLM_OPT_RECOMPUTE_GRANULARITY)};

    list_layouts(&list);
    if (list.n > 0)
        qsort(list.layout, list.n, sizeof(*list.layout), by_estimate);
    return list;
}

void mtlm_layout_list_destroy(struct mtlm_layout_list *list)
{
    mtlm_layout_estimate_destroy(list->estimate);
    free(list->layout);
}
