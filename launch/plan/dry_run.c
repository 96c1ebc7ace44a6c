/* --dry-run: prints layout, work, schedule, memory and messages of a training
 * that does not run. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "codelets/bf16_product.h"
#include "graph/predict/activation_memory.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_note.h"
#include "launch/options/options_offload.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_workers.h"
#include "launch/plan/cluster.h"
#include "launch/plan/cluster_notes.h"
#include "launch/plan/described.h"
#include "launch/plan/dry_run.h"
#include "launch/plan/dry_run_fit.h"
#include "launch/plan/dry_run_job.h"
#include "launch/plan/dry_run_schedule.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/layout_table.h"
#include "launch/plan/offload_choice.h"
#include "launch/plan/pack_choice.h"
#include "launch/plan/plan_disk.h"
#include "launch/plan/plan_host.h"
#include "launch/plan/plan_size.h"
#include "launch/plan/plan_table.h"
#include "launch/plan/policy_choice.h"
#include "launch/plan/schedule_choice.h"
#include "launch/plan/step.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/comm/launcher.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/gpu_detect.h"

/* The parts of the plan. */
struct dry_run {
    const struct mtlm_options *options;
    struct mtlm_wish wish;
    struct mtlm_cluster cluster; /* of --synthetic */
    bool described;              /* the plan is for that machine */
    struct mtlm_gpus gpus;
    struct mtlm_hosts hosts;
    int launched; /* ranks of the job that was started and that train */
    struct mtlm_choice choice;
    struct mtlm_choices compared; /* with a layout to choose */
    struct mtlm_program_config config;
    struct mtlm_outline outline;
    FILE *out;
};

/* Returns whether the ranks of the plan drive GPUs. */
static bool drives_gpus(const struct dry_run *d)
{
    return d->described ? mtlm_described_drives_gpu(d->options)
                        : d->gpus.count > 0;
}

/* Prints the layouts that were compared for ranks that need not exist. */
static void print_layouts(const struct dry_run *d)
{
    if (!d->options->world_size || d->described || !d->wish.layout_free)
        return;
    if (d->compared.n > 0)
        mtlm_layout_table_print_compared(&d->wish, &d->compared, d->out);
    else
        fprintf(d->out,
                "\nNo layout of %d rank%s with the micro batch %" PRId64
                " fits on machines like this one, so none are compared.\n"
                "--synthetic CLUSTER.ini plans for another machine, and "
                "compares layouts and micro batches there.\n",
                d->hosts.ranks, mtlm_plural(d->hosts.ranks),
                d->wish.config.micro_batch);
}

/* Sets *workers as launch/train/start.c does, without asking other ranks.  A
 * process that is bound has its cores for itself. */
static int count_workers(const struct dry_run *d, struct mtlm_options *o,
                         int *workers, struct mtlm_error *err)
{
    struct mtlm_cpu cpu;
    int share;

    if (d->described) {
        *workers = mtlm_described_workers(o);
        return 0;
    }
    if (d->gpus.count) {
        *workers = o->workers > 0 ? o->workers : 1;
        return 0;
    }

    if (mtlm_options_workers_check(o, err) < 0
        || mtlm_cpu_detect(&cpu, err) < 0)
        return -1;
    share = mtlm_cpu_share(
        &cpu,
        cpu.allowed_cores < cpu.machine_cores ? 1 : mtlm_launcher_on_host(), 0);
    *workers = mtlm_options_workers(o, share);
    return 0;
}

/* Sets the available GPU memory of a rank of this machine. */
static int find_gpus(struct dry_run *d, struct mtlm_error *err)
{
    const struct mtlm_gpus *gpus = &d->gpus;
    const int sharing = (d->hosts.per_host + gpus->count - 1) / gpus->count;

    if (mtlm_layout_choice_check_gpus(d->options, err) < 0)
        return -1;
    d->hosts.gpus = gpus->count;
    d->hosts.disk = d->hosts.available;
    d->hosts.available = d->hosts.unshared = INFINITY;
    for (int i = 0; i < gpus->count && i < d->hosts.per_host; i++) {
        if (mtlm_gpu_detect_begin(i, err) < 0)
            return -1;
        d->hosts.available =
            fmin(d->hosts.available,
                 mtlm_gpu_share(mtlm_gpu_detect_free_bytes(i), sharing));
        d->hosts.unshared =
            fmin(d->hosts.unshared,
                 mtlm_gpu_share(gpus->gpu[i].total_bytes, sharing));
    }
    return 0;
}

/* Number of ranks of a machine that train; ranks without a GPU leave. */
static int staying(const struct dry_run *d, int on_host)
{
    return d->gpus.count == 0 || d->options->share_gpu
                   || on_host <= d->gpus.count
               ? on_host
               : d->gpus.count;
}

/* Returns the launched ranks that train.  The last machine may have fewer ranks
 * than the others. */
static int launched_ranks(const struct dry_run *d)
{
    const int size = mtlm_launcher_size(), on_host = mtlm_launcher_on_host();

    return size / on_host * staying(d, on_host) + staying(d, size % on_host);
}

/* Sets the ranks and machines: of the launched job, or of the layout that the
 * options give. */
static int find_hosts(struct dry_run *d, struct mtlm_error *err)
{
    const struct mtlm_options *o = d->options;
    const int ranks = o->world_size ? o->world_size : launched_ranks(d);
    const int64_t asked = o->tensor_parallel * mtlm_options_pipeline_ranks(o);

    if (!d->wish.layout_free && (o->world_size || mtlm_launcher_rank() >= 0)
        && mtlm_options_layout_check(o, ranks, err) < 0)
        return -1;
    if (d->described)
        return mtlm_described_hosts(o, &d->cluster, o->cluster_file, ranks,
                                    &d->hosts, err);
    d->launched = launched_ranks(d);
    d->hosts =
        (struct mtlm_hosts){.ranks = ranks % asked == 0 ? ranks : asked,
                            .per_host = staying(d, mtlm_launcher_on_host()),
                            .available = mtlm_memory_available(),
                            .disk = mtlm_offload_choice_room(o),
                            .process_bytes = mtlm_memory_resident()};
    d->hosts.elsewhere = d->hosts.ranks != d->hosts.per_host;
    return d->gpus.count ? find_gpus(d, err) : 0;
}

/* Returns the option and the file of the times; NULL: none.  The caller frees
 * the text. */
static char *source_of_times(const struct mtlm_options *o)
{
    return o->stage_times    ? mtlm_sprintf("--stage-times %s", o->stage_times)
           : o->durations    ? mtlm_sprintf("--durations %s", o->durations)
           : o->cluster_file ? mtlm_sprintf("--synthetic %s", o->cluster_file)
                             : NULL;
}

/* Returns what the plan's schedule can do without, to have no order. */
static const char *without_order(const struct mtlm_options *o)
{
    return o->schedule_file                     ? "--schedule-file"
           : mtlm_options_schedule(o)->followed ? NULL
           : mtlm_options_schedule_follows(o)   ? "--schedule-mode"
                                                : "its order";
}

static int print_plan(const struct dry_run *d, struct mtlm_error *err)
{
    const struct mtlm_options *o = d->options;
    char *times = source_of_times(o);
    int rc = 0;
    const struct mtlm_dry_run_job job = {.options = o,
                                         .wish = &d->wish,
                                         .choice = &d->choice,
                                         .outline = &d->outline,
                                         .microbatches =
                                             d->config.microbatches};
    const struct mtlm_dry_run_fit fit = {.options = o,
                                         .wish = &d->wish,
                                         .hosts = &d->hosts,
                                         .launched = d->launched,
                                         .choice = &d->choice,
                                         .outline = &d->outline,
                                         .described = d->described,
                                         .on_gpus = drives_gpus(d)};
    const struct mtlm_dry_run_files files = {
        .svg = o->svg,
        .svg_ops = o->svg_detail == MTLM_SVG_OP,
        .model = o->preset ? o->preset : "mtlm-dag",
        .name = mtlm_options_schedule_name(o),
        .order = o->schedule_out,
        .searched = mtlm_options_schedule(o)->sizing == MTLM_SIZING_SEARCH,
        .bound_lp = o->bound == MTLM_BOUND_LP,
        .bound = o->bound_out,
        .times = times,
        .machine = &d->wish.machine,
        .without = without_order(o),
        .modes = o->modes_out,
        .noise = mtlm_noise_is_any(&o->jitter) ? &o->jitter : NULL,
        .seed = o->seed};

    fprintf(d->out, "mtlm-dag %s: a plan, nothing runs\n", PACKAGE_VERSION);
    if (d->options->notes)
        fprintf(d->out, "%s\n", d->options->notes);
    fputc('\n', d->out);
    mtlm_dry_run_job(&job, d->out);
    if (!d->options->eval_only)
        rc = mtlm_dry_run_schedule(&d->config, &files, d->out, err);
    free(times);
    if (rc < 0)
        return -1;
    mtlm_plan_table_memory(&d->outline, d->out);
    mtlm_plan_table_traffic(&d->outline, d->out);
    if (fit.on_gpus)
        mtlm_plan_host(&d->outline, d->out);
    else
        mtlm_plan_disk(o, &d->config, &d->outline, d->hosts.per_host, d->out);
    mtlm_dry_run_fit(&fit, d->out);
    print_layouts(d);
    return 0;
}

/* Refuses a schedule whose boxes alone are too many. */
static int check_size(const struct dry_run *d, struct mtlm_error *err)
{
    const struct mtlm_program_config config =
        mtlm_choice_config(&d->wish, &d->choice);

    return d->options->eval_only ? 0 : mtlm_plan_size_check(&config, 1, err);
}

/* Notes what the user may have expected otherwise. */
static void add_notes(const struct dry_run *d, struct mtlm_options *options)
{
    if (d->wish.layout_free && !options->world_size && mtlm_launcher_rank() < 0)
        mtlm_layout_choice_note_alone(options);
    if (options->cluster_file)
        mtlm_cluster_notes(options, &d->cluster, options->cluster_file,
                           d->hosts.ranks);
}

/* Chooses the layout and settles options and wish. */
static int choose_layout(struct dry_run *d, struct mtlm_options *options,
                         struct mtlm_error *err)
{
    if (find_hosts(d, err) < 0)
        return -1;
    add_notes(d, options);
    if (mtlm_offload_choice_make(options, &d->wish, &d->hosts, &d->choice,
                                 &d->compared, err)
            < 0
        /* The job would not run on any machine. */
        || (isinf(d->choice.need)
            && mtlm_layout_choice_check_memory(options, &d->choice, &d->hosts,
                                               err)
                   < 0)
        || check_size(d, err) < 0
        || mtlm_policy_choice_take(options, &d->wish, &d->hosts, &d->choice,
                                   err)
               < 0)
        return -1;
    /* Another machine, or GPUs, pack nothing; who asks for it is told. */
    if (d->described && options->pack_weights != MTLM_PACKING_YES)
        return 0;
    return mtlm_pack_choice_make(options, &d->wish, &d->hosts, &d->choice,
                                 mtlm_bf16_product_here(), err);
}

/* --synthetic: reads the machine that the plan counts by. */
static int read_cluster(struct dry_run *d, struct mtlm_options *options,
                        struct mtlm_error *err)
{
    if (!options->cluster_file)
        return 0;
    if (options->times.stages > 0)
        mtlm_options_note(options,
                          "--synthetic %s: without effect on the plan, which "
                          "counts by --%s",
                          options->cluster_file,
                          options->stage_times ? "stage-times" : "durations");
    return mtlm_cluster_read(&d->cluster, options->cluster_file, "--synthetic",
                             err);
}

/* Sets the training to plan. */
static void make_wish(struct dry_run *d, int workers)
{
    const struct mtlm_options *o = d->options;

    if (d->described) {
        d->wish = mtlm_described_wish(o, &d->cluster);
        return;
    }
    d->wish = mtlm_layout_choice_wish(o, workers);
    if (o->cluster_file)
        mtlm_schedule_choice_wish_cluster(&d->wish, o, &d->cluster);
    if (d->gpus.count > 0)
        mtlm_layout_choice_wish_gpus(&d->wish,
                                     mtlm_layout_choice_finds_cudnn(o));
}

int mtlm_dry_run(struct mtlm_options *options, FILE *out,
                 struct mtlm_error *err)
{
    struct dry_run d = {.options = options,
                        .described = mtlm_described_is_planned(options),
                        .out = out};
    int workers, rc;

    mtlm_gpu_detect_all(&d.gpus, options->no_gpu || d.described);
    if (mtlm_gpus_check(&d.gpus, err) < 0
        || mtlm_options_offload_check_gpus(options, drives_gpus(&d), err) < 0
        || count_workers(&d, options, &workers, err) < 0
        || read_cluster(&d, options, err) < 0)
        return -1;
    make_wish(&d, workers);
    mtlm_step_show("weighing layouts");
    rc = choose_layout(&d, options, err);
    mtlm_step_clear();
    if (rc < 0) {
        free(d.compared.list);
        return -1;
    }
    mtlm_step_show("planning memory");
    d.config = mtlm_choice_config(&d.wish, &d.choice);
    mtlm_activation_memory_measure(&d.config);
    if (!options->eval_only)
        rc = mtlm_dry_run_schedule_check(&d.config, err);
    d.outline = mtlm_outline_create(&d.config, d.hosts.process_bytes);
    d.choice.need = mtlm_choose_need(&d.hosts, &d.outline);
    mtlm_step_clear();
    if (rc == 0)
        rc = print_plan(&d, err);
    mtlm_outline_destroy(&d.outline);
    mtlm_activation_memory_free(&d.config.activation);
    free(d.compared.list);
    return rc;
}
