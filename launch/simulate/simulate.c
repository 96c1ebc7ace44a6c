/* --simulate: the layout, then programs, evaluation and numbers of an iteration
 * on a described machine. */

#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "graph/predict/activation_memory.h"
#include "graph/predict/profile.h"
#include "graph/predict/simulator.h"
#include "launch/job/job_blas.h"
#include "launch/options/options_layout.h"
#include "launch/options/options_stages_wish.h"
#include "launch/plan/cluster.h"
#include "launch/plan/cluster_notes.h"
#include "launch/plan/described.h"
#include "launch/plan/dry_run.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/step.h"
#include "launch/simulate/layout_search.h"
#include "launch/simulate/prediction_table.h"
#include "launch/simulate/simulate.h"
#include "launch/simulate/simulate_offload.h"
#include "launch/simulate/simulate_outputs.h"
#include "launch/simulate/simulate_size.h"
#include "launch/simulate/simulate_write.h"
#include "launch/simulate/starpu_run.h"
#include "runtime/base/plural.h"
#include "runtime/base/units.h"
#include "runtime/comm/launcher.h"
#include "runtime/virtual/child.h"

struct simulation {
    struct mtlm_options *options;
    struct mtlm_options before; /* of options: before these were settled */
    const char *file; /* that the cluster is from */
    struct mtlm_cluster cluster;
    struct mtlm_wish wish;
    struct mtlm_hosts hosts;
    struct mtlm_choice choice;
    struct mtlm_layout_search search; /* empty: the layout is given */
    struct mtlm_simulate_outputs outputs;
    double *seconds; /* takes the time of an iteration, and nothing is printed;
                      * NULL: all is printed and written */
};

/* ---- the job ---- */

/* Refuses several processes: each would simulate the whole job. */
static int check_alone(struct mtlm_error *err)
{
    const int processes = mtlm_launcher_together();

    if (processes == 1)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--simulate takes one process, and %d are started; "
                          "leave out mpirun, and give --world-size",
                          processes);
}

static void make_wish(struct simulation *s)
{
    s->wish = mtlm_described_wish(s->options, &s->cluster);
    s->cluster.profile = s->options->profile;
    s->cluster.overlaps = s->options->ours & MTLM_OURS_OVERLAP;
    if (s->options->profile)
        mtlm_profile_apply(s->options->profile, &s->wish.config);
    if (s->options->ours & MTLM_OURS_RECOMPUTE)
        s->wish.config.recompute_whole = false;
}

/* Refuses --as for a job that the code could not run. */
static int check_profile(const struct simulation *s,
                         const struct mtlm_program_config *config,
                         struct mtlm_error *err)
{
    const struct mtlm_profile *profile = s->options->profile;
    const char *lacks =
        profile ? mtlm_profile_lacks(profile, config, s->cluster.overlaps)
                : NULL;

    if (!lacks)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE, "--as %s: %s never had %s",
                          s->options->as, profile->source, lacks);
}

/* Sets the ranks and the machine. */
static int find_hosts(struct simulation *s, struct mtlm_error *err)
{
    const struct mtlm_options *o = s->options;
    const int64_t ranks =
        o->world_size ? o->world_size
                      : o->tensor_parallel * mtlm_options_pipeline_ranks(o);

    if (mtlm_described_hosts(o, &s->cluster, s->file, ranks, &s->hosts, err)
        < 0)
        return -1;
    if (o->world_size && !s->wish.layout_free)
        return mtlm_options_layout_check(o, ranks, err);
    return 0;
}

/* Notes what the user may have expected otherwise. */
static void add_notes(struct simulation *s)
{
    struct mtlm_options *o = s->options;

    if (!o->world_size && s->wish.layout_free)
        mtlm_layout_choice_note_alone(o);
    mtlm_cluster_notes(o, &s->cluster, s->file, s->hosts.ranks);
}

/* Refuses a job that needs more memory than a device has; where state is
 * offloaded, than a host has. */
static int check_memory(const struct simulation *s, double need,
                        struct mtlm_error *err)
{
    const struct mtlm_options *o = s->options;
    const struct mtlm_choice *c = &s->choice;

    if (isinf(need))
        return mtlm_layout_choice_check_memory(o, c, &s->hosts, err);
    if (need <= s->hosts.available)
        return 0;
    if (!s->hosts.gpus)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "%s (tensor %d x pipeline %d x data %d, micro batch %" PRId64
            ") needs %s%.2f GiB on a host with state on its disk, and a host "
            "has %.2f GiB by memory_gb of %s or --offload-memory; "
            "--ignore-memory simulates the job in memory",
            o->preset ? o->preset : "this model", c->tp, c->pp, c->dp,
            c->micro_batch, c->least ? "at least " : "", need / MTLM_GIB,
            s->hosts.available / MTLM_GIB, s->file);
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "%s (tensor %d x pipeline %d x data %d, micro batch %" PRId64
        ") needs %s%.2f GiB on a device, and %s gives a device %.2f GiB; "
        "--ignore-memory simulates the job all the same",
        o->preset ? o->preset : "this model", c->tp, c->pp, c->dp,
        c->micro_batch, c->least ? "at least " : "", need / MTLM_GIB, s->file,
        s->hosts.available / MTLM_GIB);
}

/* Refuses a job that cannot fit, before its windows are known: these follow
 * from the times of the layout, which are settled later. */
static int check_least_memory(const struct simulation *s,
                              struct mtlm_error *err)
{
    const struct mtlm_choice *c = &s->choice;

    return c->least || isinf(c->need) ? check_memory(s, c->need, err) : 0;
}

/* Finds the fastest layout.  The times of stages say nothing about tensor
 * parallelism: with these, the choice is the one of a run. */
static int search_layout(struct simulation *s, struct mtlm_error *err)
{
    const struct mtlm_options *o = s->options;
    const int offloads = mtlm_simulate_offload(
        s->options, &s->wish, &s->cluster, s->file, &s->hosts, &s->choice, err);

    if (offloads != 0)
        return offloads < 0 ? -1 : 0;
    if (!s->wish.layout_free || s->cluster.timed || s->wish.order
        || o->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_layout_choice_make(o, &s->wish, &s->hosts, &s->choice, NULL,
                                       err);
    s->search = mtlm_layout_search_make(o, &s->wish, &s->hosts, &s->cluster);
    if (s->search.n > 0) {
        mtlm_layout_search_take(&s->search, s->options, &s->wish, &s->choice);
        return 0;
    }
    if (s->search.weighed == 0)
        return mtlm_layout_choice_make(o, &s->wish, &s->hosts, &s->choice, NULL,
                                       err);
    if (s->search.too_large > 0) {
        *err = s->search.refusal.size;
        return mtlm_error_prefix(
            err, "none of %d layouts on %d rank%s fits and can be simulated",
            s->search.weighed, s->hosts.ranks, mtlm_plural(s->hosts.ranks));
    }
    if (s->search.refusal.act_mem.code != MTLM_EXIT_OK) {
        *err = s->search.refusal.act_mem;
        return mtlm_error_prefix(
            err, "none of %d layouts on %d rank%s keeps to --act-mem",
            s->search.weighed, s->hosts.ranks, mtlm_plural(s->hosts.ranks));
    }
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "none of %d layouts of %s on %d rank%s fits into the "
        "%.2f GiB of a device of %s%s",
        s->search.weighed, o->preset ? o->preset : "this model", s->hosts.ranks,
        mtlm_plural(s->hosts.ranks), s->hosts.available / MTLM_GIB, s->file,
        o->world_size ? "" : "; give --world-size");
}

/* Refuses an iteration that this machine cannot simulate. */
static int check_size(const struct simulation *s, struct mtlm_error *err)
{
    const struct mtlm_program_config config =
        mtlm_choice_config(&s->wish, &s->choice);

    return mtlm_simulate_size_check(s->options, &config, err);
}

/* Settles layout and schedule in options and wish.  The size comes first: an
 * order, or a search for a schedule, takes memory for each microbatch. */
static int choose_layout(struct simulation *s, struct mtlm_error *err)
{
    int rc;

    mtlm_step_show("weighing layouts");
    rc = search_layout(s, err);
    if (rc == 0)
        rc = check_least_memory(s, err);
    if (rc == 0)
        rc = check_size(s, err);
    if (rc == 0)
        rc = mtlm_layout_choice_take(s->options, &s->wish, &s->choice, err);
    mtlm_step_clear();
    return rc;
}

/* ---- the simulation ---- */

/* Refuses an iteration of no time, whose rates would be infinite, and one that
 * the clock cannot count. */
static int check_time(const struct simulation *s, int64_t ns,
                      struct mtlm_error *err)
{
    if (ns > 0 && ns < MTLM_SIMULATOR_LONGEST)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        ns == 0
            ? "no task of an iteration takes a nanosecond at the rates of %s"
            : "an iteration takes more than 10^7 s at the rates of %s, and a "
              "simulation counts no more",
        s->file);
}

/* Evaluates the programs, and runs them in virtual time if asked to. */
static int run_iteration(const struct simulation *s,
                         struct mtlm_folded_run *run, struct mtlm_error *err)
{
    const bool serial = s->options->transport == MTLM_USE_SERIAL;

    mtlm_step_show("evaluating an iteration");
    mtlm_folded_run_evaluate(run, serial);
    if (check_time(s, run->execution.makespan_ns, err) < 0
        || (s->options->simulate_engine == MTLM_ENGINE_STARPU
            && mtlm_starpu_run(run, err) < 0)) {
        mtlm_step_clear();
        return -1;
    }
    return 0;
}

/* Makes the layout that was found one that the user gave in o. */
static void give_layout(const struct simulation *s, struct mtlm_options *o)
{
    static const enum mtlm_option_id given[] = {
        MTLM_OPT_TENSOR_MODEL_PARALLEL_SIZE,
        MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE, MTLM_OPT_MICRO_BATCH_SIZE};
    struct mtlm_wish wish = s->wish;
    struct mtlm_choice choice;

    wish.stages = mtlm_options_stages_wish(o);
    mtlm_layout_search_take(&s->search, o, &wish, &choice);
    o->tensor_parallel = choice.tp;
    o->pipeline_parallel = choice.pp;
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        o->source[given[i]] = MTLM_SOURCE_COMMAND_LINE;
}

/* Evaluates the run, and prints and writes the numbers. */
static int evaluate(struct simulation *s, struct mtlm_folded_run *run,
                    FILE *out, struct mtlm_error *err)
{
    struct mtlm_prediction prediction;
    struct mtlm_shorter shorter;

    if (run_iteration(s, run, err) < 0)
        return -1;
    if (s->seconds) {
        *s->seconds = 1e-9 * run->execution.makespan_ns;
        return 0;
    }
    prediction = mtlm_prediction_make(run, s->options, &s->cluster, &s->hosts);
    mtlm_step_show("evaluating the schedule in other modes");
    if (s->search.n > 0)
        give_layout(s, &s->before);
    shorter = mtlm_shorter_find(run, &s->before, mtlm_simulate_seconds);
    mtlm_step_clear();
    if (mtlm_prediction_table_print(&prediction, &shorter, s->options, out, err)
        < 0)
        return -1;
    if (s->search.n > 0)
        mtlm_layout_search_print(&s->search, &s->hosts, out);
    return mtlm_simulate_write(&s->outputs, s->options, &s->choice, run,
                               &prediction, out, err);
}

/* Refuses microbatches that the iteration does not have. */
static int check_window(const struct simulation *s,
                        const struct mtlm_program_config *config,
                        struct mtlm_error *err)
{
    const struct mtlm_range *window = &s->options->trace_microbatches;

    if (window->last <= config->microbatches)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--trace-microbatches %" PRId64 ":%" PRId64
                          " goes beyond the %" PRId64
                          " microbatches of an iteration",
                          window->first, window->last, config->microbatches);
}

/* Returns the bytes of the fullest device, or host. */
static double need_of(const struct simulation *s,
                      const struct mtlm_folded_run *run)
{
    return s->hosts.gpus ? mtlm_folded_run_memory(run)
                         : mtlm_folded_run_host_memory(run, s->hosts.per_host);
}

/* Builds the programs, refuses what does not fit, and evaluates the rest. */
static int simulate_iteration(struct simulation *s, FILE *out,
                              struct mtlm_error *err)
{
    struct mtlm_program_config config =
        mtlm_choice_config(&s->wish, &s->choice);
    struct mtlm_folded_run run;
    int rc;

    if (check_profile(s, &config, err) < 0 || check_window(s, &config, err) < 0)
        return -1;
    mtlm_activation_memory_measure(&config);
    mtlm_step_show("building the programs");
    run = mtlm_folded_run_create(&config, &s->cluster);
    if (mtlm_noise_is_any(&s->options->jitter))
        mtlm_folded_run_add_noise(&run, &s->options->jitter, s->options->seed);
    rc = check_memory(s, need_of(s, &run), err);
    mtlm_step_clear();
    if (rc == 0)
        rc = evaluate(s, &run, out, err);
    mtlm_folded_run_free(&run);
    mtlm_activation_memory_free(&config.activation);
    return rc;
}

/* Sets cluster, wish and hosts.  option: names the file in an error. */
static int begin(struct simulation *s, const char *option,
                 struct mtlm_error *err)
{
    if (mtlm_cluster_read(&s->cluster, s->file, option, err) < 0)
        return -1;
    make_wish(s);
    return find_hosts(s, err);
}

int mtlm_simulate(struct mtlm_options *options, FILE *out,
                  struct mtlm_error *err)
{
    struct simulation s = {
        .options = options, .before = *options, .file = options->simulate_file};
    int rc;

    if (check_alone(err) < 0 || begin(&s, "--simulate", err) < 0
        || (options->simulate_engine == MTLM_ENGINE_STARPU
            && mtlm_virtual_check(err) < 0)
        || mtlm_simulate_outputs_open(&s.outputs, options, err) < 0)
        return -1;
    add_notes(&s);
    rc = choose_layout(&s, err);
    if (rc == 0)
        rc = simulate_iteration(&s, out, err);
    mtlm_simulate_outputs_close(&s.outputs, rc == 0);
    mtlm_layout_search_free(&s.search);
    return rc;
}

int mtlm_simulate_seconds(struct mtlm_options *options,
                          const struct mtlm_cluster *cluster, double *seconds,
                          struct mtlm_error *err)
{
    struct simulation s = {.options = options,
                           .file = options->simulate_file,
                           .cluster = *cluster,
                           .seconds = seconds};
    int rc;

    make_wish(&s);
    rc = find_hosts(&s, err);
    if (rc == 0)
        rc = choose_layout(&s, err);
    if (rc == 0)
        rc = simulate_iteration(&s, NULL, err);
    mtlm_layout_search_free(&s.search);
    return rc;
}

/* Returns whether the job, which exceeds every layout's devices, may fit with
 * state in host memory: the plan then says so. */
static bool may_offload(const struct mtlm_options *options,
                        const struct mtlm_error *err)
{
    return err->code == MTLM_EXIT_RESOURCE
           && options->offload != MTLM_OFFLOAD_NONE
           && mtlm_described_drives_gpu(options);
}

int mtlm_simulate_plan(struct mtlm_options *options, FILE *out,
                       struct mtlm_error *err)
{
    struct simulation s = {.options = options, .file = options->cluster_file};
    int rc;

    if (mtlm_job_blas_plan(options, err) < 0)
        return -1;
    if (!s.file || !options->world_size || options->times.stages > 0
        || !mtlm_options_layout_is_free(options))
        return mtlm_dry_run(options, out, err);
    if (begin(&s, "--synthetic", err) < 0
        || (search_layout(&s, err) < 0 && !may_offload(options, err)))
        return -1;
    if (s.search.n > 0)
        give_layout(&s, options);
    rc = mtlm_dry_run(options, out, err);
    if (rc == 0 && s.search.n > 0)
        mtlm_layout_search_print(&s.search, &s.hosts, out);
    mtlm_layout_search_free(&s.search);
    return rc;
}
