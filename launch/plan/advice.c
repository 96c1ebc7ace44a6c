/* Prints commands that would fit when a job does not. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option_value.h"
#include "launch/options/options_offload.h"
#include "launch/options/options_print.h"
#include "launch/plan/advice.h"
#include "runtime/base/shell_word.h"
#include "runtime/base/text.h"
#include "runtime/base/units.h"
#include "runtime/file/offload_dir.h"

/* Sizes of the example with fewer layers. */
enum { FEW_LAYERS = 4, SMALL_BATCH = 8 };

/* No advice beyond this many ranks. */
enum { MANY_RANKS = 1 << 13 };

struct command {
    const struct mtlm_options *options;
    const struct mtlm_choice *choice;
    int ranks, per_host;           /* up to per_host ranks: this machine */
    int64_t layers, batch;         /* 0: as the options say */
    bool offload;                  /* adds --offload optimizer */
};

static void print_option(const struct mtlm_options *options,
                         enum mtlm_option_id option, FILE *out)
{
    char *text = mtlm_option_value_text(options, option);

    if (mtlm_option_table[option].type != MTLM_OPTION_FLAG) {
        fprintf(out, " --%s ", mtlm_option_table[option].name);
        mtlm_shell_word_print(text, out);
    } else if (strcmp(text, "yes") == 0) {
        fprintf(out, " --%s", mtlm_option_table[option].name);
    }
    free(text);
}

/* Returns whether more layers are recomputed at a time than the command's model
 * has. */
static bool recomputes_fewer(const struct command *c)
{
    return c->layers && c->options->recompute.granularity == MTLM_RECOMPUTE_FULL
           && c->options->recompute.num_layers > c->layers;
}

/* Whether the command replaces or drops the option. */
static bool is_replaced(const struct command *c, enum mtlm_option_id option)
{
    static const enum mtlm_option_id always[] = {
        MTLM_OPT_TENSOR_MODEL_PARALLEL_SIZE,
        MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE,
        MTLM_OPT_NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK,
        MTLM_OPT_NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE,
        MTLM_OPT_PLACEMENT,
        MTLM_OPT_STAGE_LAYERS,
        MTLM_OPT_STAGE_WINDOWS,
        MTLM_OPT_SCHEDULE_FILE,
        MTLM_OPT_SCHEDULE_MODE,
        MTLM_OPT_STAGE_TIMES,
        MTLM_OPT_DURATIONS,
        MTLM_OPT_MICRO_BATCH_SIZE,
        MTLM_OPT_PACK_WEIGHTS,
        MTLM_OPT_JITTER_FILE,
        MTLM_OPT_DRY_RUN,
        MTLM_OPT_SVG,
        MTLM_OPT_SCHEDULE_OUT,
        MTLM_OPT_MODES_OUT,
        MTLM_OPT_BOUND,
        MTLM_OPT_BOUND_OUT,
        MTLM_OPT_WORLD_SIZE};
    static const enum mtlm_option_id small[] = {MTLM_OPT_NUM_LAYERS,
                                                MTLM_OPT_GLOBAL_BATCH_SIZE,
                                                MTLM_OPT_RAMPUP_BATCH_SIZE};

    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        if (option == always[i])
            return true;
    for (int i = 0; i < 3 && c->layers; i++)
        if (option == small[i])
            return true;
    if (option == MTLM_OPT_RECOMPUTE_NUM_LAYERS)
        return recomputes_fewer(c);
    if (option == MTLM_OPT_OFFLOAD)
        return c->offload;
    if (option == MTLM_OPT_JITTER) /* of a plan, or of a synthetic run */
        return !c->options->cluster_file;
    return option == MTLM_OPT_SVG_DETAIL && !c->options->trace_dir;
}

static void print_command(const struct command *c, FILE *out)
{
    const struct mtlm_options given = mtlm_options_as_given(c->options);

    if (c->ranks > 1)
        fprintf(out, "mtlm-run -n %d ", c->ranks);
    if (c->ranks > c->per_host)
        fprintf(out, "--hostfile HOSTS --map-by ppr:%d:node ", c->per_host);
    fprintf(out, "mtlm-dag");
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (given.source[i] == MTLM_SOURCE_COMMAND_LINE
            && !mtlm_option_value_absent(&given, i) && !is_replaced(c, i))
            print_option(&given, i, out);
    if (c->layers)
        fprintf(out, " --num-layers %" PRId64 " --global-batch-size %" PRId64,
                c->layers, c->batch);
    if (recomputes_fewer(c))
        fprintf(out, " --recompute-num-layers %" PRId64, c->layers);
    if (c->ranks > 1)
        fprintf(out,
                " --tensor-model-parallel-size %d"
                " --pipeline-model-parallel-size %d",
                c->choice->tp, c->choice->pp);
    if (c->offload)
        fprintf(out, " --offload optimizer");
    fprintf(out, " --micro-batch-size %" PRId64 "\n", c->choice->micro_batch);
}

/* Returns the bytes of a parameter's moments and master; 0: offloaded. */
static double moment_bytes(const struct mtlm_program_config *config)
{
    return config->offload != MTLM_OFFLOAD_NONE ? 0
           : config->value == MTLM_REAL         ? 8
                                                : 12;
}

/* A rank's share of a job shrinks no faster than the number of ranks grows, up
 * to this, while each rank has so many layers. */
#define SHRINKS 0.9
enum { SHARED_LAYERS = 64 };

/* Returns the next number of machines to try after `machines`, each of which
 * needs `need` bytes at least.  Graphs of many layers take long to build: no
 * number of them is tried that is too small for sure. */
static double next_machines(double machines, double need,
                            const struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts)
{
    const double too_few =
        isfinite(need) ? SHRINKS * machines * need / hosts->available : 0;
    const double many_layers = (double) wish->config.model.num_layers
                               / ((double) SHARED_LAYERS * hosts->per_host);

    return fmax(machines + 1, floor(fmin(too_few, many_layers)));
}

/* Finds the fewest machines; false: no number of machines is enough. */
static bool more_machines(const struct mtlm_wish *wish,
                          struct mtlm_hosts *hosts, struct mtlm_choice *choice)
{
    const struct mtlm_program_config one =
        mtlm_wish_config(wish, 1, 1, 1, wish->config.micro_batch);
    /* A lower bound: weights, gradients, and what else is in memory. */
    const double least =
        (mtlm_dtype_bytes(one.value) + sizeof(mtlm_real) + moment_bytes(&one))
        * mtlm_model_parameters(&one.model);
    const double each = hosts->available * (hosts->gpus ? hosts->per_host : 1);
    double machines = ceil(least / each), need;

    for (machines = fmax(machines, 2); machines * hosts->per_host <= MANY_RANKS;
         machines = next_machines(machines, need, wish, hosts)) {
        hosts->ranks = machines * hosts->per_host;
        need = 0;
        if (mtlm_choose(wish, hosts, choice) < 0)
            continue;
        if (choice->fits)
            return true;
        need = choice->need;
    }
    return false;
}

/* Finds the largest number of layers, at most FEW_LAYERS, that fits on the
 * ranks. */
static bool fewer_layers(struct mtlm_wish *wish, struct mtlm_hosts *hosts,
                         struct mtlm_choice *choice)
{
    const int ranks = hosts->ranks;
    const int64_t recomputed = wish->config.recompute.num_layers;
    int64_t layers = wish->config.model.num_layers;

    layers = layers > FEW_LAYERS ? FEW_LAYERS : layers - 1;
    wish->global_batch = SMALL_BATCH;
    wish->config.ramp = (struct mtlm_ramp){0};
    while (SMALL_BATCH % wish->config.micro_batch)
        wish->config.micro_batch--;
    for (; layers >= 1; layers--) {
        wish->config.model.num_layers = layers;
        wish->config.recompute.num_layers =
            recomputed < layers ? recomputed : layers;
        for (hosts->ranks = ranks; hosts->ranks >= 1; hosts->ranks--)
            if (mtlm_choose(wish, hosts, choice) == 0 && choice->fits)
                return true;
    }
    return false;
}

/* Returns whether the disk, or the host memory beside GPUs, has room for
 * moments and masters of the job. */
static bool disk_has_room(const struct mtlm_options *options,
                          const struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts)
{
    char *dir = mtlm_options_offload_dir(options);
    const double bytes = moment_bytes(&wish->config)
                         * mtlm_model_parameters(&wish->config.model);
    const bool has = hosts->gpus ? hosts->disk > bytes
                                 : dir && mtlm_offload_dir_room(dir) > bytes;

    free(dir);
    return has;
}

/* Finds a layout of the ranks that fits with moments on a disk, or in host
 * memory beside GPUs. */
static bool moments_on_disk(const struct mtlm_options *options,
                            struct mtlm_wish wish,
                            const struct mtlm_hosts *hosts,
                            struct mtlm_choice *choice)
{
    if (wish.config.offload != MTLM_OFFLOAD_NONE || options->eval_only
        || options->cluster_file || options->replan_after > 0
        || !disk_has_room(options, &wish, hosts))
        return false;
    wish.config.offload = MTLM_OFFLOAD_OPTIMIZER;
    return mtlm_choose(&wish, hosts, choice) == 0 && choice->fits;
}

/* Prints what a disk, or host memory, needs on which the job's state would
 * fit. */
static void print_disk_need(const struct mtlm_options *options,
                            const struct mtlm_hosts *hosts, FILE *out)
{
    char *dir = mtlm_options_offload_dir(options);

    if (hosts->disk_need > 0 && hosts->gpus)
        fprintf(out,
                "With its state in host memory it fits here, but %.2f GiB of "
                "that are available, and %.2f GiB are needed.\n",
                hosts->disk / MTLM_GIB, hosts->disk_need / MTLM_GIB);
    else if (hosts->disk_need > 0)
        fprintf(out,
                "With its state on a disk it fits here, but %s has %.2f GiB "
                "free, and %.2f GiB are needed:\nanother --offload-dir may "
                "have room.\n",
                dir, hosts->disk / MTLM_GIB, hosts->disk_need / MTLM_GIB);
    free(dir);
}

char *mtlm_advice(const struct mtlm_options *options,
                  const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                  int launched)
{
    struct mtlm_wish free_wish = *wish;
    struct mtlm_hosts more = *hosts, same = *hosts;
    const struct mtlm_schedule *schedule = wish->config.schedule;
    struct mtlm_choice choice;
    struct command c = {
        .options = options, .choice = &choice, .per_host = hosts->per_host};
    struct mtlm_text text;
    FILE *out = mtlm_text_open(&text);

    same.ranks = launched;
    more.elsewhere = same.elsewhere = false;
    free_wish.layout_free = free_wish.micro_batch_free = true;
    /* What the schedule needs stays in the command. */
    free_wish.stages = (struct mtlm_stage_wish){
        .virtual_stages =
            schedule->least_chunks > 1 ? schedule->least_chunks : 0};
    free_wish.order = NULL;
    free_wish.config.stage_windows = NULL;
    free_wish.config.n_stage_windows = 0;
    free_wish.config.times = NULL;
    free_wish.config.layout.placement =
        schedule->placed ? schedule->placement : MTLM_PLACEMENT_LOOP;
    free_wish.config.packing = MTLM_PACKING_NO;
    free_wish.hurry = true;
    if (moments_on_disk(options, free_wish, &same, &choice)) {
        c.ranks = same.ranks;
        c.offload = true;
        fprintf(out, "With Adam's moments %s it fits here:\n  ",
                hosts->gpus ? "in host memory" : "on a disk");
        print_command(&c, out);
        c.offload = false;
    }
    print_disk_need(options, hosts, out);
    if (more_machines(&free_wish, &more, &choice)) {
        c.ranks = more.ranks;
        fprintf(out, "It fits on %d machines like this one:\n  ",
                more.ranks / more.per_host);
        print_command(&c, out);
    } else {
        fprintf(out, "No number of machines like this one is enough: a part "
                     "that cannot be split further does not fit.\n");
    }
    /* A checkpoint has its own number of layers. */
    if (!options->options_path && fewer_layers(&free_wish, &same, &choice)) {
        c.ranks = same.ranks;
        c.layers = free_wish.config.model.num_layers;
        c.batch = SMALL_BATCH;
        fprintf(out, "With fewer layers it fits here:\n  ");
        print_command(&c, out);
    }
    mtlm_text_close(&text);
    text.text[text.bytes - 1] = '\0';
    return text.text;
}
