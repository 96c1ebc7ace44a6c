/* Choice of a layout: tries tensor- and pipeline-parallel sizes, and weighs
 * each by its memory and its forecast time. */

#include "config.h"

#include <math.h>

#include "graph/build/stage.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/choose.h"
#include "graph/predict/forecast.h"
#include "runtime/base/memory.h"

/* Margin of memory, because plans and machines are not known more exactly. */
#define TO_SPARE 1.05

/* Factor on alpha where F and B take longer by an unknown share: with tensor
 * parallelism by all-reduces; on a GPU by the time until the runtime starts the
 * next task (perf/results/gpu-nvidia-h200.md).  With equal stages and alpha
 * 1.5, any share up to 1 / p turns windows w = p - k into p - k + 1. */
#define WITH_WAITS 1.05

/* A layout with more ranks for a model, or with a larger tensor-parallel size,
 * must take less than this share of the other layout's time. */
#define WORTH 0.98

/* Not worked out: models that are so many times too large, and models too large
 * for memory with so many layers per rank, whose graph is large itself. */
enum { TIMES_TOO_LARGE = 64, MANY_LAYERS = 4096 };

/* Layouts that spread a model over more than so many times the ranks that it
 * needs are not tried.  They exchange more, and evaluating all layouts of many
 * ranks takes too long. */
enum { TIMES_THE_RANKS = 4 };

/* Returns whether the wished order is made for the config's pipeline. */
static bool order_fits(const struct mtlm_wish *wish,
                       const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    const struct mtlm_box_order *order = wish->order;

    return order && order->ranks == config->layout.pp
           && wish->order_microbatches == config->microbatches
           && (int64_t) order->n[0] * order->ranks == mtlm_boxes_count(&boxes);
}

struct mtlm_program_config mtlm_wish_config(const struct mtlm_wish *wish,
                                            int tp, int pp, int dp,
                                            int64_t micro_batch)
{
    struct mtlm_program_config config = wish->config;

    config.layout.tp = tp;
    config.layout.pp = pp;
    config.layout.dp = dp;
    config.layout.virtual_stages =
        mtlm_stage_wish_chunks(&wish->stages, config.model.num_layers, pp);
    config.layout.stage_layers = wish->stages.layers;
    config.micro_batch = micro_batch;
    config.microbatches =
        wish->global_batch ? wish->global_batch / (micro_batch * dp) : 1;
    config.eval_microbatches = wish->eval_iters * config.microbatches;
    config.order = order_fits(wish, &config) ? wish->order : NULL;
    return config;
}

struct mtlm_program_config mtlm_choice_config(const struct mtlm_wish *wish,
                                              const struct mtlm_choice *choice)
{
    return mtlm_wish_config(wish, choice->tp, choice->pp, choice->dp,
                            choice->micro_batch);
}

/* Returns the bytes of the first rank, which are much faster to find than those
 * of all ranks. */
static double first_rank(const struct mtlm_program_config *config,
                         const struct mtlm_hosts *hosts)
{
    const struct mtlm_plan plan =
        mtlm_outline_stage(config, 0, hosts->process_bytes);

    return hosts->gpus ? mtlm_plan_gpu_bytes(&plan)
                       : mtlm_plan_more_bytes(&plan);
}

/* Returns the number of ranks that share hosts->available. */
static int ranks_sharing_memory(const struct mtlm_hosts *hosts)
{
    if (hosts->gpus)
        return 1;
    return hosts->per_host < hosts->ranks ? hosts->per_host : hosts->ranks;
}

double mtlm_choose_need(const struct mtlm_hosts *hosts,
                        const struct mtlm_outline *outline)
{
    return hosts->gpus ? mtlm_outline_gpu_bytes(outline)
                       : mtlm_outline_host_bytes(outline, hosts->per_host);
}

double mtlm_choose_need_of(const struct mtlm_hosts *hosts,
                           const struct mtlm_program_config *config)
{
    struct mtlm_program_config mine = *config;
    struct mtlm_outline outline;
    double need;

    mtlm_activation_memory_measure(&mine);
    outline = mtlm_outline_create(&mine, hosts->process_bytes);
    need = mtlm_choose_need(hosts, &outline);
    mtlm_outline_destroy(&outline);
    mtlm_activation_memory_free(&mine.activation);
    return need;
}

bool mtlm_choose_fits(const struct mtlm_hosts *hosts, double need)
{
    return TO_SPARE * need <= hosts->available;
}

/* Returns whether the hosts of GPUs have room for the state that is offloaded
 * there. */
static bool hosts_have_room(const struct mtlm_hosts *hosts,
                            const struct mtlm_outline *outline)
{
    return !hosts->gpus || hosts->disk <= 0 || outline->plan[0].file_bytes == 0
           || TO_SPARE * mtlm_outline_beside_bytes(outline, hosts->per_host)
                  <= hosts->disk;
}

/* Sets the choice's need, fits and seconds. */
static void work_out_choice(const struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            const struct mtlm_program_config *config,
                            struct mtlm_choice *choice)
{
    struct mtlm_outline outline;

    if (wish->hurry) {
        choice->need = first_rank(config, hosts);
        if (!mtlm_choose_fits(hosts, choice->need))
            return;
    }
    outline = mtlm_outline_create(config, hosts->process_bytes);
    choice->need = mtlm_choose_need(hosts, &outline);
    choice->least = false;
    choice->fits = mtlm_choose_fits(hosts, choice->need)
                   && hosts_have_room(hosts, &outline)
                   && mtlm_outline_check_counts(&outline, NULL) == 0;
    if (choice->fits && wish->layout_free && !wish->hurry)
        choice->seconds = mtlm_forecast(config, &outline, hosts->per_host);
    mtlm_outline_destroy(&outline);
}

static struct mtlm_choice weigh_layout(const struct mtlm_wish *wish,
                                       const struct mtlm_hosts *hosts, int tp,
                                       int pp, int64_t micro_batch)
{
    const int dp = hosts->ranks / (tp * pp);
    struct mtlm_program_config config =
        mtlm_wish_config(wish, tp, pp, dp, micro_batch);
    struct mtlm_choice choice = {.tp = tp,
                                 .pp = pp,
                                 .dp = dp,
                                 .virtual_stages = config.layout.virtual_stages,
                                 .micro_batch = micro_batch,
                                 .samples =
                                     config.microbatches * micro_batch * dp,
                                 .window = wish->config.window,
                                 .least = true};
    const double hopeless =
        (wish->hurry ? 1 : TIMES_TOO_LARGE) * hosts->available;

    if (!mtlm_stage_rows_fit(&config)) {
        choice.need = INFINITY;
        return choice;
    }
    choice.need = mtlm_plan_lower_bound(&config, hosts->gpus > 0)
                  * ranks_sharing_memory(hosts);
    if (choice.need > hopeless
        || (choice.need > hosts->available
            && config.model.num_layers / pp > MANY_LAYERS))
        return choice;
    mtlm_activation_memory_measure(&config);
    work_out_choice(wish, hosts, &config, &choice);
    mtlm_activation_memory_free(&config.activation);
    return choice;
}

bool mtlm_wish_can_share(const struct mtlm_wish *wish, int dp,
                         int64_t micro_batch)
{
    const struct mtlm_ramp *ramp = &wish->config.ramp;
    const int64_t each = micro_batch * dp;

    return micro_batch % mtlm_model_choices(&wish->config.model) == 0
           && wish->global_batch % each == 0
           && (ramp->increment == 0
               || (ramp->start % each == 0 && ramp->increment % each == 0));
}

/* The next smaller micro batch that may be chosen, or 0. */
static int64_t smaller_micro_batch(const struct mtlm_wish *wish, int dp,
                                   int64_t micro_batch)
{
    const int64_t wanted = wish->config.micro_batch;

    if (!wish->micro_batch_free)
        return 0;
    do
        micro_batch--;
    while (micro_batch > 0
           && (wanted % micro_batch
               || !mtlm_wish_can_share(wish, dp, micro_batch)));
    return micro_batch;
}

/* The largest micro batch with which dp ranks can share the batches, or 0. */
static int64_t largest_micro_batch(const struct mtlm_wish *wish, int dp)
{
    const int64_t wanted = wish->config.micro_batch;

    return mtlm_wish_can_share(wish, dp, wanted)
               ? wanted
               : smaller_micro_batch(wish, dp, wanted);
}

/* The largest micro batch that fits, or the smallest. */
static struct mtlm_choice choose_micro_batch(const struct mtlm_wish *wish,
                                             const struct mtlm_hosts *hosts,
                                             int tp, int pp)
{
    const int dp = hosts->ranks / (tp * pp);
    int64_t b = largest_micro_batch(wish, dp);
    struct mtlm_choice choice =
        weigh_layout(wish, hosts, tp, pp, b ? b : wish->config.micro_batch);

    while (!choice.fits && !hosts->elsewhere
           && (b = smaller_micro_batch(wish, dp, b)) > 0) {
        const struct mtlm_choice other = weigh_layout(wish, hosts, tp, pp, b);

        if (other.fits || other.need < choice.need)
            choice = other;
    }
    return choice;
}

bool mtlm_choose_possible(const struct mtlm_wish *wish, int ranks, int t)
{
    const struct mtlm_model *model = &wish->config.model;

    return ranks % t == 0 && model->num_heads % t == 0
           && model->ffn_hidden_size % t == 0
           && mtlm_stage_wish_chunks(&wish->stages, model->num_layers,
                                     ranks / t)
                  > 0;
}

/* The largest tensor-parallel size to look at where `shared` of the ranks
 * share the model. */
static int most_tensor_parallel(const struct mtlm_wish *wish, int ranks,
                                int shared)
{
    const int64_t heads = wish->config.model.num_heads;

    return ranks % shared ? 0 : shared < heads ? shared : heads;
}

/* Whether `shared` of the ranks can share the model, t of them each layer,
 * and the rest the batches. */
static bool is_possible(const struct mtlm_wish *wish, int ranks, int shared,
                        int t)
{
    return ranks % shared == 0 && mtlm_choose_possible(wish, shared, t)
           && largest_micro_batch(wish, ranks / shared) > 0;
}

bool mtlm_choose_any(const struct mtlm_wish *wish, int ranks)
{
    const struct mtlm_model *model = &wish->config.model;
    const int64_t stages =
        mtlm_stage_wish_most_ranks(&wish->stages, model->num_layers);
    /* A rank has a head at least, and a stage. */
    const int most = fmin(ranks, (double) model->num_heads * stages);

    for (int shared = 1; shared <= most; shared++)
        for (int t = 1; t <= most_tensor_parallel(wish, ranks, shared); t++)
            if (is_possible(wish, ranks, shared, t))
                return true;
    return false;
}

/* Returns the forecast of a sample. */
static double sample_seconds(const struct mtlm_choice *choice)
{
    return choice->seconds / choice->samples;
}

/* Returns whether a is the better choice. */
static bool is_better(const struct mtlm_choice *a, const struct mtlm_choice *b)
{
    if (b->tp == 0 || a->fits != b->fits)
        return b->tp == 0 || a->fits;
    return a->fits ? sample_seconds(a) < WORTH * sample_seconds(b)
                   : a->need < b->need;
}

/* Options that set virtual stages ask for a pipeline. */
static bool wants_pipeline(const struct mtlm_stage_wish *stages)
{
    return stages->virtual_stages > 1 || stages->layers_per_stage > 0
           || stages->layers;
}

/* Keeps a layout that was compared.  compared may be NULL. */
static void keep(struct mtlm_choices *compared,
                 const struct mtlm_choice *choice)
{
    if (!compared || !choice->fits || choice->seconds <= 0)
        return;
    compared->list =
        mtlm_realloc(compared->list, compared->n + 1, sizeof(*compared->list));
    compared->list[compared->n++] = *choice;
}

/* Tries the layouts in which `shared` ranks hold a model.  across: layouts
 * whose tensor-parallel groups span machines; else the others.  Stops at the
 * first layout that fits if in a hurry or if virtual stages are asked for.
 * compared: takes the layouts; or NULL. */
static void try_layouts(const struct mtlm_wish *wish,
                        const struct mtlm_hosts *hosts, int shared, bool across,
                        struct mtlm_choice *choice,
                        struct mtlm_choices *compared)
{
    const int most = most_tensor_parallel(wish, hosts->ranks, shared);
    const bool first = wish->hurry || wants_pipeline(&wish->stages);

    for (int t = 1; t <= most && !(first && choice->fits); t++)
        if (across == (hosts->per_host % t != 0)
            && is_possible(wish, hosts->ranks, shared, t)) {
            const struct mtlm_choice other =
                choose_micro_batch(wish, hosts, t, shared / t);

            keep(compared, &other);
            if (is_better(&other, choice))
                *choice = other;
        }
}

/* Returns whether windows may grow with that tensor-parallel size. */
static bool may_widen(const struct mtlm_wish *wish,
                      const struct mtlm_hosts *hosts, int tp)
{
    return wish->window_free && !wish->hurry && (tp > 1 || hosts->gpus > 0)
           && wish->config.schedule->sizing != MTLM_SIZING_STAGES
           && wish->config.act_mem == 0;
}

double mtlm_choose_window(const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts, int tp, int pp,
                          int64_t micro_batch)
{
    struct mtlm_wish wider = *wish;

    if (!may_widen(wish, hosts, tp))
        return wish->config.window;
    wider.layout_free = false; /* no forecast */
    wider.config.window *= WITH_WAITS;
    return weigh_layout(&wider, hosts, tp, pp, micro_batch).fits
               ? wider.config.window
               : wish->config.window;
}

static void widen_windows(const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts,
                          struct mtlm_choice *choice)
{
    struct mtlm_wish wider = *wish;
    struct mtlm_choice other;

    if (!choice->fits || !may_widen(wish, hosts, choice->tp))
        return;
    wider.config.window *= WITH_WAITS;
    other = weigh_layout(&wider, hosts, choice->tp, choice->pp,
                         choice->micro_batch);
    if (other.fits)
        *choice = other;
}

static int choose_layout(const struct mtlm_wish *wish,
                         const struct mtlm_hosts *hosts,
                         struct mtlm_choice *choice,
                         struct mtlm_choices *compared)
{
    const struct mtlm_layout *given = &wish->config.layout;
    const bool most_first = !wish->hurry && wants_pipeline(&wish->stages);
    const int ranks = hosts->ranks;
    int most = ranks; /* that share a model */

    if (!wish->layout_free) {
        *choice = choose_micro_batch(wish, hosts, given->tp, given->pp);
        return 0;
    }
    *choice = (struct mtlm_choice){.need = INFINITY, .least = true};
    for (int i = wish->hurry ? ranks : 1; i <= most; i++) {
        const bool none = !choice->fits;

        for (int across = 0; across < 2; across++)
            try_layouts(wish, hosts, most_first ? ranks + 1 - i : i, across,
                        choice, compared);
        if (none && choice->fits)
            most = most_first ? i : fmin(ranks, TIMES_THE_RANKS * i);
    }
    return choice->tp ? 0 : -1;
}

/* compared: NULL, or takes the layouts. */
static int choose(const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                  struct mtlm_choice *choice, struct mtlm_choices *compared)
{
    if (choose_layout(wish, hosts, choice, compared) < 0)
        return -1;
    widen_windows(wish, hosts, choice);
    return 0;
}

int mtlm_choose(const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                struct mtlm_choice *choice)
{
    return choose(wish, hosts, choice, NULL);
}

int mtlm_choose_comparing(const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts,
                          struct mtlm_choice *choice,
                          struct mtlm_choices *compared)
{
    *compared = (struct mtlm_choices){0};
    return choose(wish, hosts, choice, compared);
}
