/* Chooses what of a job's state is offloaded: to a disk, or from GPUs to host
 * memory. */

#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "graph/build/offload.h"
#include "graph/predict/activation_memory.h"
#include "launch/options/options_note.h"
#include "launch/options/options_offload.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_stages.h"
#include "launch/plan/offload_choice.h"
#include "runtime/file/offload_dir.h"

/* A job whose state is offloaded, on given machines. */
struct trial {
    struct mtlm_wish wish;
    const struct mtlm_hosts *hosts;
    struct mtlm_choice choice;
};

double mtlm_offload_choice_room(const struct mtlm_options *options)
{
    char *dir = options->offload == MTLM_OFFLOAD_NONE
                    ? NULL
                    : mtlm_options_offload_dir(options);
    const double room = dir ? mtlm_offload_dir_room(dir) : 0;

    free(dir);
    return fmax(room, 0);
}

/* ---- trials ---- */

/* Bytes of the disk: of the files of a machine's ranks, with GPUs of all that
 * the ranks keep in host memory; per iteration, of the rank that reads and
 * writes most. */
struct disk {
    double file, moved;
};

static struct disk disk_of(const struct trial *t)
{
    struct mtlm_program_config config =
        mtlm_choice_config(&t->wish, &t->choice);
    struct mtlm_outline outline;
    struct disk disk = {0};

    mtlm_activation_memory_measure(&config);
    outline = mtlm_outline_create(&config, t->hosts->process_bytes);
    for (int r = 0; r < t->hosts->ranks; r++) {
        const struct mtlm_plan *plan = mtlm_outline_plan(&outline, r);

        if (r < t->hosts->per_host)
            disk.file += plan->file_bytes;
        disk.moved = fmax(disk.moved, plan->loaded_bytes + plan->stored_bytes);
    }
    if (t->hosts->gpus)
        disk.file = mtlm_outline_beside_bytes(&outline, t->hosts->per_host);
    mtlm_outline_destroy(&outline);
    mtlm_activation_memory_free(&config.activation);
    return disk;
}

static bool fits_memory(struct trial *t)
{
    return mtlm_choose(&t->wish, t->hosts, &t->choice) == 0 && t->choice.fits;
}

static struct mtlm_offload_amount *amount_of(struct trial *t)
{
    return &t->wish.config.offload_amount;
}

static bool fits_with(struct trial *t, int gradients, int weights, int inputs)
{
    amount_of(t)->gradients = gradients;
    amount_of(t)->weights = weights;
    amount_of(t)->inputs = inputs;
    return fits_memory(t);
}

static int64_t microbatches_of(const struct trial *t)
{
    return mtlm_choice_config(&t->wish, &t->choice).microbatches;
}

/* Fewer units than this fill the slots alone. */
enum { LEAST_UNITS = MTLM_OFFLOAD_SLOTS + 1 };

/* Sets *amount to the least number with which the trial fits, of some that fit
 * with no limit.  most: of the units that a rank has, or nearly. */
static void find_least(struct trial *t, int *amount, int most)
{
    int least = most < LEAST_UNITS ? most : LEAST_UNITS;

    while (least < most) {
        *amount = (least + most) / 2;
        if (fits_memory(t))
            most = *amount;
        else
            least = *amount + 1;
    }
    *amount = most;
    if (fits_memory(t))
        return;
    *amount = INT_MAX;
    fits_memory(t);
}

/* Leaves in memory what fits there, of a trial that fits with all buckets and
 * that many inputs on the disk.  For each byte that leaves the memory, the disk
 * moves 4 bytes of weights, and 2 bytes of inputs or gradients.  layers: of a
 * rank. */
static void keep_most(struct trial *t, int layers, int inputs)
{
    if (fits_with(t, 0, 0, 0))
        return;
    if (!fits_with(t, INT_MAX, 0, inputs))
        find_least(t, &amount_of(t)->weights, layers);
    else if (inputs > 0 && !fits_with(t, INT_MAX, 0, 0))
        find_least(t, &amount_of(t)->inputs, layers);
    else
        find_least(t, &amount_of(t)->gradients, layers);
}

/* ---- gradients, weights, inputs ---- */

/* Returns the pipeline ranks of a free layout: all ranks, if each has a
 * stage. */
static int pipeline_of(const struct mtlm_wish *wish, int ranks)
{
    const int64_t layers = wish->config.model.num_layers;
    const int64_t most = mtlm_stage_wish_most_ranks(&wish->stages, layers);
    int pp = ranks / wish->config.layout.tp;

    while (pp > 1
           && (pp > most || ranks / wish->config.layout.tp % pp
               || mtlm_stage_wish_chunks(&wish->stages, layers, pp) == 0))
        pp--;
    return pp;
}

/* Prepares a job whose layers come and go: a virtual stage for each, where the
 * options leave the stages free. */
static void stream(const struct mtlm_options *options, struct mtlm_wish *wish,
                   int ranks)
{
    const struct mtlm_schedule *schedule = wish->config.schedule;
    struct mtlm_program_config *config = &wish->config;
    struct mtlm_stage_wish *stages = &wish->stages;

    config->offload = MTLM_OFFLOAD_ALL;
    config->offload_amount =
        (struct mtlm_offload_amount){.gradients = INT_MAX, .weights = INT_MAX};
    if (config->recompute.granularity == MTLM_RECOMPUTE_NONE
        && !config->eval_only)
        config->recompute = (struct mtlm_recompute){MTLM_RECOMPUTE_FULL,
                                                    MTLM_RECOMPUTE_UNIFORM, 1};
    if (wish->layout_free) {
        wish->layout_free = false;
        config->layout.pp = pipeline_of(wish, ranks);
    }
    if (!mtlm_options_stages_given(options) && !schedule->most_chunks)
        stages->virtual_stages =
            (int) (config->model.num_layers / config->layout.pp);
    wish->stages_fixed = true;
}

static bool fits_without_inputs(struct trial *t)
{
    return fits_with(t, INT_MAX, INT_MAX, 0);
}

static bool fits_with_inputs(struct trial *t)
{
    return fits_with(t, INT_MAX, INT_MAX, INT_MAX);
}

/* With inputs, if these then take less memory. */
static bool fits_with_least(struct trial *t)
{
    double need;

    fits_without_inputs(t);
    need = t->choice.need;
    fits_with_inputs(t);
    if (t->choice.need >= need)
        fits_without_inputs(t);
    return t->choice.fits;
}

/* Returns whether a's disk moves less than b's, and has room. */
static bool moves_less(const struct trial *a, const struct trial *b)
{
    const struct disk x = disk_of(a), y = disk_of(b);

    return x.moved < y.moved
           && (x.file <= a->hosts->disk || y.file > b->hosts->disk);
}

/* Finds what must be offloaded while a group goes through the layers: with
 * inputs in memory and, where that takes weights, with offloaded inputs.  Takes
 * the trial that reads and writes less.  Returns whether one fits. */
static bool fit_group(struct trial *t, int layers)
{
    struct trial with = *t;
    const bool fits = fits_without_inputs(t);

    if (fits)
        keep_most(t, layers, 0);
    if ((fits && amount_of(t)->weights == 0) || t->wish.config.eval_only
        || !fits_with_inputs(&with))
        return fits;
    keep_most(&with, layers, INT_MAX);
    if (!fits || moves_less(&with, t))
        *t = with;
    return true;
}

/* Returns the next smaller group; 0: there is none. */
static int smaller_group(struct trial *t)
{
    const int64_t group =
        amount_of(t)->group > 0 ? amount_of(t)->group : microbatches_of(t);

    return group > 1 ? (int) ((group + 1) / 2) : 0;
}

/* Finds the group with which the disk reads and writes least: smaller groups
 * leave room for weights and inputs, and load again what is offloaded.  Tries
 * smaller ones as long as they are better. */
static bool offload_as_needed(struct trial *t, int layers)
{
    struct trial next = *t;
    bool fits = false;

    do {
        if (fit_group(&next, layers)) {
            if (fits && !moves_less(&next, t))
                break;
            *t = next;
            fits = true;
        }
        amount_of(&next)->group = smaller_group(&next);
    } while (
        amount_of(&next)->group > 0
        && (!fits || amount_of(t)->weights > 0 || amount_of(t)->inputs > 0));
    return fits;
}

/* Offloads everything, in the largest group that fits. */
static bool offload_everything(struct trial *t)
{
    do {
        if (fits_with_least(t))
            return true;
        amount_of(t)->group = smaller_group(t);
    } while (amount_of(t)->group > 0);
    return false;
}

/* Offloads gradients, weights and inputs; as_needed: no more than memory
 * demands.  Returns whether the job then fits. */
static bool offload_all(const struct mtlm_options *options, struct trial *t,
                        bool as_needed)
{
    const int64_t layers = t->wish.config.model.num_layers;
    int pp;

    if (t->wish.stages.pipeline || t->wish.config.weight_staleness)
        return false;
    stream(options, &t->wish, t->hosts->ranks);
    if (!as_needed)
        return offload_everything(t);
    pp = t->wish.config.layout.pp;
    return offload_as_needed(t, (int) ((layers + pp - 1) / pp));
}

static bool offload_optimizer(struct trial *t)
{
    if (t->wish.config.eval_only)
        return false;
    t->wish.config.offload = MTLM_OFFLOAD_OPTIMIZER;
    return fits_memory(t);
}

/* ---- the choice ---- */

/* Layers of a rank beyond which no trial is made: a graph of so many stages
 * takes long to build. */
enum { MOST_LAYERS = 512 };

/* Bytes of a large disk.  State that needs less is tried even where the disk
 * has less, so that the need can be said. */
static const double large_disk = 4e12;

/* Returns a lower bound of the disk's bytes: the state of all ranks of this
 * machine, which share one model at most, beyond their memory.  With GPUs each
 * rank has its own memory. */
static double least_disk(const struct mtlm_wish *wish,
                         const struct mtlm_hosts *hosts)
{
    const struct mtlm_program_config *config = &wish->config;
    const double value = mtlm_dtype_bytes(config->value);
    const double states = config->eval_only ? value
                          : config->value == MTLM_REAL
                              ? value + 3 * sizeof(mtlm_real)
                              : value + 4 * sizeof(mtlm_real);

    return states * mtlm_model_parameters(&config->model)
           - hosts->available * (hosts->gpus ? hosts->ranks : 1);
}

/* Returns whether --offload auto may use a disk, or host memory beside GPUs.
 * An order that ranks follow fits into memory, or is refused with its
 * action. */
static bool may_use_disk(const struct mtlm_options *o,
                         const struct mtlm_hosts *hosts)
{
    return o->offload == MTLM_OFFLOAD_AUTO && !hosts->elsewhere
           && hosts->disk > 0 && !o->schedule_file
           && !mtlm_options_schedule_follows(o)
           && (!o->cluster_file || mtlm_options_offload_is_planned(o))
           && !(mtlm_options_given(o, MTLM_OPT_REPLAN_AFTER)
                && o->replan_after > 0);
}

/* Notes stages of many layers, which the disk reads for each microbatch. */
static void note_stages(struct mtlm_options *options,
                        const struct mtlm_wish *wish)
{
    const struct mtlm_program_config *config = &wish->config;

    if (config->offload == MTLM_OFFLOAD_ALL && wish->stages.virtual_stages <= 1
        && config->model.num_layers > config->layout.pp)
        mtlm_options_note(options, "--offload: layers of a stage are loaded "
                                   "for each microbatch; a virtual stage for "
                                   "each layer would be loaded once");
}

static void take(struct mtlm_options *options, struct mtlm_wish *wish,
                 struct mtlm_choice *choice, const struct trial *t)
{
    *wish = t->wish;
    *choice = t->choice;
    options->offload = wish->config.offload;
    options->recompute = wish->config.recompute;
    note_stages(options, wish);
}

/* Takes the trial, which fits into memory, if the disk has room.  Else notes
 * what the disk would need. */
static bool take_if_room(struct mtlm_options *options, struct mtlm_wish *wish,
                         struct mtlm_hosts *hosts, struct mtlm_choice *choice,
                         const struct trial *t)
{
    const double need = disk_of(t).file;

    if (need <= hosts->disk) {
        take(options, wish, choice, t);
        return true;
    }
    hosts->disk_need = need;
    return false;
}

static void choose_as_needed(struct mtlm_options *options,
                             struct mtlm_wish *wish, struct mtlm_hosts *hosts,
                             struct mtlm_choice *choice)
{
    struct mtlm_hosts roomy = *hosts;
    struct trial t = {.wish = *wish, .hosts = &roomy};

    if (hosts->gpus)
        roomy.disk = INFINITY; /* the need shall be found */
    if (least_disk(wish, hosts) > fmax(hosts->disk, large_disk)
        || wish->config.model.num_layers > (int64_t) MOST_LAYERS * hosts->ranks)
        return;
    if (offload_optimizer(&t) && take_if_room(options, wish, hosts, choice, &t))
        return;
    t = (struct trial){.wish = *wish, .hosts = &roomy};
    if (hosts->disk_need == 0 && offload_all(options, &t, true))
        take_if_room(options, wish, hosts, choice, &t);
}

/* --offload-memory: of the machine's memory, beside its GPUs, too. */
static void limit_memory(const struct mtlm_options *options,
                         struct mtlm_hosts *hosts)
{
    double *memory = hosts->gpus ? &hosts->disk : &hosts->available;

    if (options->offload_memory > 0)
        *memory = fmin(*memory, options->offload_memory);
}

int mtlm_offload_choice_make(struct mtlm_options *options,
                             struct mtlm_wish *wish, struct mtlm_hosts *hosts,
                             struct mtlm_choice *choice,
                             struct mtlm_choices *compared,
                             struct mtlm_error *err)
{
    struct trial t = {.wish = *wish, .hosts = hosts};
    const bool may = may_use_disk(options, hosts);

    hosts->disk_need = 0;
    limit_memory(options, hosts);
    if (options->offload == MTLM_OFFLOAD_ALL) {
        offload_all(options, &t, false);
        *wish = t.wish;
        options->recompute = wish->config.recompute;
        note_stages(options, wish);
    } else if (options->offload == MTLM_OFFLOAD_AUTO) {
        options->offload = MTLM_OFFLOAD_NONE;
    }
    if (mtlm_layout_choice_make(options, wish, hosts, choice, compared, err)
        < 0)
        return -1;
    if (may && choice->need > hosts->available)
        choose_as_needed(options, wish, hosts, choice);
    return 0;
}
