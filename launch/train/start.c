/* Starts and stops a job.  The start has steps, and all ranks agree after each
 * step.  The steps are in launch/job/ and launch/checkpoint/. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/bf16_product.h"
#include "codelets/codelet.h"
#include "graph/build/packing.h"
#include "launch/checkpoint/job_best.h"
#include "launch/checkpoint/job_checkpoint.h"
#include "launch/job/job_blas.h"
#include "launch/job/job_compare.h"
#include "launch/job/job_data.h"
#include "launch/job/job_gpus.h"
#include "launch/job/job_layout.h"
#include "launch/job/job_offload.h"
#include "launch/job/job_outputs.h"
#include "launch/job/job_replan.h"
#include "launch/job/job_run.h"
#include "launch/job/job_transport.h"
#include "launch/job/job_synthetic.h"
#include "launch/options/options_workers.h"
#include "launch/plan/layout_choice.h"
#include "launch/train/start.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/base/standard_output.h"
#include "runtime/base/units.h"
#include "runtime/file/offload_file.h"
#include "runtime/machine/blas.h"
#include "runtime/machine/blas_core.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/machine.h"
#include "runtime/policies/builtin.h"

/* Collective. */
static void make_groups(struct mtlm_job *job)
{
    const struct mtlm_layout *l = &job->layout;

    mtlm_ranks_group(job->ranks, MTLM_GROUP_TP,
                     l->pp_rank * l->dp + l->dp_rank);
    mtlm_ranks_group(job->ranks, MTLM_GROUP_DP,
                     l->pp_rank * l->tp + l->tp_rank);
    mtlm_ranks_group(
        job->ranks, MTLM_GROUP_EMBEDDING,
        mtlm_layout_shares_embedding(l) ? l->tp_rank + l->tp * l->dp_rank : -1);
}

/* One rank alone may ask for too many workers, so no rank waits for others
 * here. */
static int detect_cpu(struct mtlm_job *job, struct mtlm_error *err)
{
    if (job->gpu < 0 && mtlm_options_workers_check(&job->options, err) < 0)
        return -1;
    return mtlm_cpu_detect(&job->cpu, err);
}

/* Sets the number of workers, by default this rank's share of the cores that
 * its binding allows.  The graph is built for the largest number of workers of
 * any rank (job_layout.c).  Rings of equal length let the ranks of a
 * tensor-parallel group follow their leader. */
static int count_workers(struct mtlm_job *job, struct mtlm_error *err)
{
    int before;
    const int sharing =
        mtlm_ranks_sharing(job->ranks, job->cpu.mask_hash, &before);
    const int share = mtlm_cpu_share(&job->cpu, sharing, before);
    char text[256];
    const char *hint;

    (void) err;
    if (job->gpu >= 0) { /* the host's cores are almost idle */
        job->workers = job->options.workers > 0 ? job->options.workers : 1;
        return 0;
    }
    job->workers = mtlm_options_workers(&job->options, share);
    hint =
        mtlm_cpu_hint(&job->cpu, mtlm_ranks_host_sum(job->ranks, job->workers),
                      text, sizeof(text));
    if (hint && mtlm_ranks_rank(job->ranks) == 0)
        fprintf(stderr, "%s\n", hint);
    return 0;
}

/* Buffers of libraries count in check_memory() as memory that is gone. */
static int reserve_libraries(struct mtlm_job *job, struct mtlm_error *err)
{
    if (job->gpu >= 0 || job->options.cluster_file) /* no matrix products */
        return 0;
    return mtlm_blas_core_reserve(job->workers, err);
}

/* Checks memory again: opening the data took memory. */
static int check_memory(struct mtlm_job *job, struct mtlm_error *err)
{
    const double mine = job->options.cluster_file
                            ? 0 /* one element of each tensor */
                            : mtlm_plan_more_bytes(&job->plan);

    if (job->gpu >= 0)
        return mtlm_job_gpus_check_host(job, err);
    return mtlm_plan_check(mtlm_ranks_host_sum(job->ranks, mine),
                           job->hosts.available, err);
}

static int start_machine(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_machine_config config = {
        .workers = job->workers,
        .gpu = job->gpu,
        .gpu_bytes = job->gpu_bytes,
        .shared = mtlm_ranks_on_host(job->ranks) > 1,
        .rank = mtlm_ranks_rank(job->ranks),
        .messages = job->options.comm_node == MTLM_COMM_TASK,
        .one_memory = job->options.comm_node == MTLM_COMM_TASK
                      || job->program->offloaded.n_units > 0,
        .epilogues = job->options.epilogues,
        .policies = mtlm_policies_builtin()};

    if (job->machine_started)
        return 0;
    if (mtlm_machine_start(&config, err) < 0)
        return -1;
    job->machine_started = true;
    mtlm_codelets_start(job->options.cluster_file != NULL);
    return 0;
}

/* The first StarPU of a host measures the links of all GPUs: one rank starts
 * before the others. */
static int start_first_machine(struct mtlm_job *job, struct mtlm_error *err)
{
    return job->gpu >= 0 && job->host_rank == 0 ? start_machine(job, err) : 0;
}

static void compare_clocks(struct mtlm_job *job)
{
    const int64_t offset = mtlm_ranks_clock_offset(job->ranks);
    const int64_t now = mtlm_now_ns();

    job->clock_offsets =
        (struct mtlm_clock_offsets){{now, now}, {offset, offset}};
}

static void start_run(struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    if (mtlm_job_traces(job) || job->replan_after > 0)
        job->recorder = mtlm_recorder_create();
    if (job->recorder)
        compare_clocks(job);
    job->engine = mtlm_engine_start(&(struct mtlm_engine_config){
        .ranks = job->ranks,
        .transport = job->transport,
        .order = o->collective_order,
        .max_in_flight = o->transport == MTLM_USE_SERIAL ? 1 : 0,
        .recorder = job->recorder,
        .tasks = o->comm_node == MTLM_COMM_TASK});
    mtlm_job_offload_start(job);
    mtlm_job_run_create(job, &job->begin);
}

static void print_gpu(const struct mtlm_job *job)
{
    const struct mtlm_gpus *gpus = &job->gpus;
    const char *missing = mtlm_gpus_missing(gpus);

    if (job->gpu >= 0)
        printf("GPU: rank 0 on %d of %d: %s; %.2f GiB for a rank, %.2f of them "
               "planned\n",
               job->gpu, gpus->count, job->gpu_text, job->gpu_bytes / MTLM_GIB,
               mtlm_plan_gpu_bytes(&job->plan) / MTLM_GIB);
    else if (missing && !job->options.cluster_file)
        printf("GPU: %s; trains on CPUs\n", missing);
}

static void print_precision(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    char how[128];

    if (!o->bf16 && !o->fp16)
        return;
    printf("precision: %s weights and activations, fp32 masters, moments and "
           "gradients; CPUs multiply %s%s\n",
           o->bf16 ? "bf16" : "fp16",
           o->bf16 ? mtlm_bf16_product_describe(how, sizeof(how)) : "in fp32",
           mtlm_packing_is_used(job->program)
               ? ", with weights packed once per iteration"
           : o->pack_weights == MTLM_PACKING_YES
               ? "; no weight is packed: packed ones would have padding"
               : "");
}

static void print_memory(const struct mtlm_plan *plan)
{
    printf("memory of rank 0: weights %.1f, gradients %.1f, moments %.1f, "
           "activations %.1f, ",
           plan->weight_bytes / MTLM_MIB, plan->gradient_bytes / MTLM_MIB,
           plan->moment_bytes / MTLM_MIB, plan->activation_bytes / MTLM_MIB);
    if (plan->saved_bytes > 0)
        printf("copies for checkpoints %.1f, ", plan->saved_bytes / MTLM_MIB);
    printf("runtime %.1f, in all %.1f MiB\n", plan->runtime_bytes / MTLM_MIB,
           plan->total_bytes / MTLM_MIB);
}

static void print_start(struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_layout *l = &job->layout;
    const int64_t m = mtlm_job_microbatches(job);
    const char *file = mtlm_machine_policy_file();
    char blas[160];

    if (mtlm_ranks_rank(job->ranks) != 0)
        return;
    if (o->notes)
        fprintf(stderr, "%s\n", o->notes);
    if (job->prompts) /* standard output is for the text alone */
        return;
    printf("mtlm-dag %s: %s, %" PRId64 " layer%s, hidden %" PRId64
           ", %.2f million parameters\n",
           PACKAGE_VERSION,
           o->preset ? o->preset : mtlm_model_family_name(o->model.family),
           o->model.num_layers, mtlm_plural(o->model.num_layers),
           o->model.hidden_size, mtlm_model_parameters(&o->model) / 1e6);
    printf("layout: tensor %d x pipeline %d x data %d = %d rank%s%s, %" PRId64
           " microbatch%s of %" PRId64 " x %" PRId64 " tokens\n",
           l->tp, l->pp, l->dp, mtlm_layout_ranks(l),
           mtlm_plural(mtlm_layout_ranks(l)),
           job->wish.layout_free && mtlm_layout_ranks(l) > 1 ? " (chosen)" : "",
           m, mtlm_plural_es(m), o->micro_batch_size, o->model.seq_length);
    if (mtlm_layout_stages(l) > 1) {
        char *stages = mtlm_layout_choice_stages_text(l, o->model.num_layers);

        printf("stages: %s\n", stages);
        free(stages);
    }
    if (o->ramp.increment > 0)
        printf("batch: %" PRId64 " samples, growing by %" PRId64
               " at a time to %" PRId64 " within %" PRId64 " samples\n",
               o->ramp.start, o->ramp.increment, o->ramp.full, o->ramp.samples);
    printf("machine: %d of %d cores, %d worker%s on rank 0, StarPU "
           "%s, policy %s%s%s, %s\n",
           job->cpu.allowed_cores, job->cpu.machine_cores, job->workers,
           mtlm_plural(job->workers), mtlm_machine_starpu_version(),
           mtlm_machine_policy(), file ? " of " : "", file ? file : "",
           mtlm_blas_describe(blas, sizeof(blas)));
    print_gpu(job);
    print_precision(job);
    if (o->weight_staleness && !o->eval_only)
        printf("staleness: gradients at the weights of one step before, two "
               "versions of weights and gradients\n");
    mtlm_job_transport_print(job);
    if (o->cluster_file)
        printf("synthetic: durations of %s, nothing is computed\n",
               o->cluster_file);
    else
        print_memory(&job->plan);
    mtlm_job_offload_print(job);
    mtlm_job_data_print(job);
    mtlm_job_checkpoint_print(job);
    mtlm_standard_output_flush();
}

/* One step of the start on this rank; all ranks agree after each step.  If a
 * step can fail on some ranks only, these ranks fail before the step's first
 * collective call. */
typedef int step(struct mtlm_job *job, struct mtlm_error *err);

int mtlm_train_start(struct mtlm_job *job, struct mtlm_error *err, int *print)
{
    static step *const steps[] = {mtlm_job_compare_programs,
                                  mtlm_job_compare_settings,
                                  mtlm_job_gpus_find,
                                  mtlm_job_gpus_share,
                                  mtlm_job_gpus_begin,
                                  mtlm_job_gpus_measure,
                                  mtlm_job_transport_choose,
                                  mtlm_job_transport_compare,
                                  mtlm_job_layout_check,
                                  detect_cpu,
                                  count_workers,
                                  mtlm_job_blas_choose,
                                  mtlm_job_blas_compare,
                                  reserve_libraries,
                                  mtlm_job_synthetic_read,
                                  mtlm_job_layout_choose,
                                  mtlm_job_data_open,
                                  mtlm_job_compare_data,
                                  mtlm_job_run_build,
                                  check_memory,
                                  mtlm_job_offload_check,
                                  mtlm_job_offload_reserve,
                                  mtlm_job_outputs_probe,
                                  mtlm_job_checkpoint_lock,
                                  mtlm_job_checkpoint_find,
                                  mtlm_job_checkpoint_check,
                                  mtlm_job_checkpoint_space,
                                  mtlm_job_checkpoint_compare,
                                  mtlm_job_best_find,
                                  mtlm_job_replan_decide,
                                  mtlm_job_outputs_open_metrics,
                                  start_first_machine,
                                  start_machine};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct mtlm_error mine;
        const int rc = steps[i](job, &mine);

        if (mtlm_ranks_agree(job->ranks, rc < 0 ? &mine : NULL, err, print)
            < 0) {
            mtlm_job_outputs_remove(job);
            if (*print && err->code == MTLM_EXIT_RESOURCE)
                mtlm_job_layout_advise(job);
            return -1;
        }
        if (job->leaves)
            return 0;
    }
    make_groups(job);
    start_run(job);
    print_start(job);
    return 0;
}

void mtlm_train_stop(struct mtlm_job *job)
{
    mtlm_job_stop_engine(job);
    mtlm_job_run_destroy(job);
    mtlm_offload_file_destroy(job->offload.file);
    mtlm_host_pieces_destroy(job->offload.host);
    mtlm_recorder_destroy(job->recorder);
    if (job->machine_started) {
        mtlm_machine_stop();
        mtlm_codelets_stop();
    }
    mtlm_job_run_free_program(job);
    mtlm_job_data_close(job);
    free(job->gpu_text);
    mtlm_job_checkpoint_end(job);
    mtlm_best_checkpoint_free(&job->best);
    mtlm_job_outputs_end(job);
    free(job->advice);
}
