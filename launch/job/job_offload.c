/* Reserves the file or the host memory of offloaded state, starts and stops its
 * threads. */
#include "config.h"

#include <stdlib.h>

#include "graph/build/offload.h"
#include "graph/build/stage.h"
#include "launch/job/job_offload.h"
#include "launch/log/progress.h"
#include "launch/options/options_offload.h"
#include "launch/plan/disk_note.h"
#include "launch/plan/offload_forecast.h"
#include "runtime/base/plural.h"
#include "runtime/base/units.h"
#include "runtime/disk/io.h"
#include "runtime/file/offload_dir.h"
#include "runtime/machine/data.h"

int mtlm_job_offload_check(struct mtlm_job *job, struct mtlm_error *err)
{
    double bytes;
    char *dir;
    int rc;

    if (mtlm_options_offload_check_gpus(&job->options, job->gpu >= 0, err) < 0)
        return -1;
    if (job->options.offload == MTLM_OFFLOAD_NONE || job->gpu >= 0)
        return 0;
    bytes = mtlm_ranks_host_sum(job->ranks, mtlm_offload_bytes(job->program));
    if (bytes == 0)
        return 0;
    dir = mtlm_options_offload_dir(&job->options);
    rc = mtlm_offload_dir_check(dir, bytes, err);
    free(dir);
    return rc;
}

int mtlm_job_offload_reserve(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_offloaded *o = &job->program->offloaded;
    char *dir;

    if (o->n_units == 0 || job->gpu >= 0)
        return 0;
    dir = mtlm_options_offload_dir(&job->options);
    job->offload.file =
        mtlm_offload_file_create(dir, o->piece, o->n_pieces, err);
    free(dir);
    if (job->offload.file)
        job->offload_speed = mtlm_offload_file_speed(job->offload.file);
    return job->offload.file ? 0 : -1;
}

/* Returns the tasks of an iteration on the ranks of rank 0's pipeline, whose
 * stages may differ.  Collective. */
static double sum_tasks(const struct mtlm_job *job)
{
    const bool counts = job->layout.tp_rank == 0 && job->layout.dp_rank == 0;
    double tasks = counts ? (double) job->plan.tasks : 0;

    mtlm_ranks_sum_all(job->ranks, &tasks, 1);
    return tasks;
}

void mtlm_job_offload_start(struct mtlm_job *job)
{
    const struct mtlm_offloaded *o = &job->program->offloaded;

    if (job->options.offload == MTLM_OFFLOAD_NONE)
        return;
    job->pipeline_tasks = sum_tasks(job);
    if (o->n_units == 0)
        return;
    if (job->gpu >= 0)
        job->offload.host =
            mtlm_host_pieces_create(o->piece, o->n_pieces, mtlm_data_home());
    job->io = mtlm_io_start(
        &(struct mtlm_io_config){.pieces = job->offload,
                                 .node = mtlm_data_home(),
                                 .threads = MTLM_JOB_OFFLOAD_THREADS,
                                 .recorder = job->recorder});
}

/* Returns the number of units of a kind. */
static int count_units(const struct mtlm_job *job, enum mtlm_storage storage)
{
    const struct mtlm_offloaded *o = &job->program->offloaded;
    int n = 0;

    for (int u = 0; u < o->n_units; u++)
        n += o->unit[u].storage == storage;
    return n;
}

/* Returns how the file is read and written. */
static const char *way_of(const struct mtlm_offload_file *file)
{
    if (!mtlm_offload_file_is_direct(file))
        return " (through the system's cache)";
    return mtlm_offload_file_has_rings(file) ? " by io_uring" : "";
}

/* Prints what is offloaded. */
static void print_state(const struct mtlm_job *job)
{
    const int moments = count_units(job, MTLM_STORE_MOMENT);
    const int gradients = count_units(job, MTLM_STORE_GRAD);
    const int weights = count_units(job, MTLM_STORE_PARAM);
    const int inputs = count_units(job, MTLM_STORE_ACTIVATION)
                       / mtlm_stage_parts(&job->program->config);

    printf("offload: ");
    if (moments > 0)
        printf("moments%s",
               job->options.bf16 || job->options.fp16 ? " and masters" : "");
    if (gradients > 0)
        printf(", gradients of %d", gradients);
    if (weights > 0)
        printf("%sweights of %d",
               gradients > 0 ? " and "
               : moments > 0 ? ", "
                             : "",
               weights);
    if (gradients > 0 || weights > 0)
        printf(" of the %d buckets", job->program->n_buckets);
    if (inputs > 0)
        printf(", inputs of %d layer%s", inputs, mtlm_plural(inputs));
}

static void print_file(const struct mtlm_job *job)
{
    char *dir = mtlm_options_offload_dir(&job->options);

    printf(" of rank 0 in a file of %.1f MiB in %s%s; per iteration %.1f MiB "
           "read, %.1f MiB written\n",
           job->plan.file_bytes / MTLM_MIB, dir, way_of(job->offload.file),
           job->plan.loaded_bytes / MTLM_MIB,
           job->plan.stored_bytes / MTLM_MIB);
    free(dir);
}

static void print_host(const struct mtlm_job *job)
{
    printf(" of rank 0 in %.1f MiB of host memory; per iteration %.1f MiB to "
           "the GPU, %.1f MiB from the GPU\n",
           job->plan.file_bytes / MTLM_MIB, job->plan.loaded_bytes / MTLM_MIB,
           job->plan.stored_bytes / MTLM_MIB);
}

/* Prints what the directory lies on, if on no disk of this machine. */
static void print_note(const struct mtlm_job *job)
{
    char *dir = mtlm_options_offload_dir(&job->options);
    char *note = mtlm_disk_note(dir);

    if (note)
        printf("offload: %s\n", note);
    free(note);
    free(dir);
}

/* Prints the seconds that the disk and the cores need at least. */
static void print_bounds(const struct mtlm_job *job,
                         const struct mtlm_offload_rates *rates,
                         double products, double disk)
{
    printf("offload: an iteration takes %.3g s or more: its matrix products "
           "%.3g s at %.3g GFLOP/s, the disk %.3g s beside them at %.0f MB/s "
           "read, %.0f MB/s written\n",
           products > disk ? products : disk, products,
           rates->flops_per_s * job->workers / 1e9, disk,
           rates->speed.read / 1e6, rates->speed.written / 1e6);
}

/* Prints the time of an iteration, and what helps. */
static void print_seconds(const struct mtlm_job *job)
{
    const struct mtlm_offload_rates rates = {
        mtlm_offload_forecast_flops(&job->options), job->offload_speed};
    const double disk = job->plan.loaded_bytes / rates.speed.read
                        + job->plan.stored_bytes / rates.speed.written;
    const double products =
        job->plan.flops / (rates.flops_per_s * job->workers);
    struct mtlm_offload_forecast forecast;

    if (mtlm_offload_forecast_make(&job->program->config, &rates,
                                   job->hosts.per_host, job->pipeline_tasks,
                                   &forecast))
        mtlm_offload_forecast_print(&forecast, &rates, job->workers,
                                    "offload: ", stdout);
    else
        print_bounds(job, &rates, products, disk);
    if (disk > products)
        printf("offload: the disk takes %.3g times as long as the products: "
               "more samples per second with a larger --global-batch-size, "
               "more memory, or a faster --offload-dir\n",
               disk / products);
    else
        printf("offload: a shorter iteration needs fewer samples "
               "(--global-batch-size), more cores, or more machines (mpirun -n "
               "N)\n");
}

void mtlm_job_offload_print(const struct mtlm_job *job)
{
    if (!job->io)
        return;
    print_state(job);
    if (job->offload.host) {
        print_host(job);
        return;
    }
    print_file(job);
    print_note(job);
    if (job->offload_speed.read > 0 && job->offload_speed.written > 0)
        print_seconds(job);
}

void mtlm_job_offload_stop(struct mtlm_job *job)
{
    const struct mtlm_error *why;

    if (!job->io)
        return;
    mtlm_io_wait(job->io);
    why = mtlm_io_error(job->io);
    if (why) {
        mtlm_progress_hide();
        mtlm_warn("rank %d: %s", mtlm_ranks_rank(job->ranks), why->text);
    }
    job->offload_failed = why != NULL;
    mtlm_io_stop(job->io);
    job->io = NULL;
}

bool mtlm_job_offload_failed(const struct mtlm_job *job)
{
    double failed = job->offload_failed;

    if (job->options.offload == MTLM_OFFLOAD_NONE)
        return false;
    mtlm_ranks_max_all(job->ranks, &failed, 1);
    return failed > 0;
}
