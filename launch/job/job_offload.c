/* Reserves the file of offloaded state, starts and stops its threads. */
#include "config.h"

#include <stdlib.h>

#include "graph/build/offload.h"
#include "launch/job/job_offload.h"
#include "launch/log/progress.h"
#include "launch/options/options_offload.h"
#include "runtime/disk/io.h"
#include "runtime/file/offload_dir.h"

#define MIB (1024.0 * 1024)

int mtlm_job_offload_check(struct mtlm_job *job, struct mtlm_error *err)
{
    double bytes;
    char *dir;
    int rc;

    if (job->options.offload == MTLM_OFFLOAD_NONE || job->options.eval_only)
        return 0;
    bytes = mtlm_ranks_host_sum(job->ranks, mtlm_offload_bytes(job->program));
    if (mtlm_options_offload_check_gpus(&job->options, job->gpu >= 0, err) < 0)
        return -1;
    dir = mtlm_options_offload_dir(&job->options);
    rc = mtlm_offload_dir_check(dir, bytes, err);
    free(dir);
    return rc;
}

int mtlm_job_offload_reserve(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_offloaded *o = &job->program->offloaded;
    char *dir;

    if (o->n_units == 0)
        return 0;
    dir = mtlm_options_offload_dir(&job->options);
    job->offload_file =
        mtlm_offload_file_create(dir, o->piece, o->n_pieces, err);
    free(dir);
    return job->offload_file ? 0 : -1;
}

void mtlm_job_offload_start(struct mtlm_job *job)
{
    if (job->offload_file)
        job->io = mtlm_io_start(
            &(struct mtlm_io_config){.file = job->offload_file,
                                     .threads = MTLM_JOB_OFFLOAD_THREADS,
                                     .recorder = job->recorder});
}

void mtlm_job_offload_print(const struct mtlm_job *job)
{
    const struct mtlm_plan *plan = &job->plan;
    char *dir;

    if (!job->offload_file)
        return;
    dir = mtlm_options_offload_dir(&job->options);
    printf("offload: moments%s of rank 0 in a file of %.1f MiB in %s%s; per "
           "iteration %.1f MiB read, %.1f MiB written\n",
           job->options.bf16 || job->options.fp16 ? " and masters" : "",
           plan->file_bytes / MIB, dir,
           mtlm_offload_file_is_direct(job->offload_file)
               ? ""
               : " (through the system's cache)",
           plan->loaded_bytes / MIB, plan->stored_bytes / MIB);
    free(dir);
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
        fprintf(stderr, "mtlm-dag: rank %d: %s\n", mtlm_ranks_rank(job->ranks),
                why->text);
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
