/* Which rank drives which GPU: steps of the start. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "launch/job/job_gpus.h"
#include "launch/job/job_transport.h"
#include "launch/plan/layout_choice.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"
#include "runtime/machine/gpu_detect.h"

int mtlm_job_gpus_find(struct mtlm_job *job, struct mtlm_error *err)
{
    job->gpu = -1;
    if (job->options.cluster_file) /* nothing is computed */
        return 0;
    if (mtlm_job_transport_may_use_nccl(job))
        mtlm_gpu_detect_load_at_once();
    mtlm_gpu_detect_all(&job->gpus, job->options.no_gpu);
    return mtlm_gpus_check(&job->gpus, err);
}

/* Returns the GPU of this rank, an index among the host's GPUs; -1: none. */
static int choose_gpu(struct mtlm_job *job)
{
    int mine;
    const int n = mtlm_ranks_on_host(job->ranks);
    struct mtlm_gpus *all = mtlm_ranks_host_gather(job->ranks, &job->gpus,
                                                   sizeof(job->gpus), &mine);
    int *gpu = mtlm_calloc(n, sizeof(*gpu));
    int chosen;

    mtlm_gpus_assign(all, n, job->options.share_gpu ? n : 1, gpu);
    chosen = gpu[mine];
    free(gpu);
    free(all);
    return chosen;
}

int mtlm_job_gpus_share(struct mtlm_job *job, struct mtlm_error *err)
{
    const int ranks = mtlm_ranks_size(job->ranks);
    int64_t driving;

    (void) err;
    job->gpu = choose_gpu(job);
    driving = mtlm_ranks_sum(job->ranks, job->gpu >= 0);
    if (driving == 0 || driving == ranks)
        return 0;
    job->leaves = job->gpu < 0;
    mtlm_ranks_part(job->ranks, !job->leaves);
    if (!job->leaves && mtlm_ranks_rank(job->ranks) == 0)
        mtlm_warn("%d of %d ranks have a GPU and train; the others leave "
                  "(--share-gpu lets several ranks drive one GPU)",
                  (int) driving, ranks);
    return 0;
}

int mtlm_job_gpus_begin(struct mtlm_job *job, struct mtlm_error *err)
{
    if (job->gpu < 0)
        return 0;
    return mtlm_layout_choice_check_gpus(&job->options, err) < 0
               ? -1
               : mtlm_gpu_detect_begin(job->gpu, err);
}

/* The other ranks have created their GPU contexts by now, so free bytes exclude
 * all contexts. */
int mtlm_job_gpus_measure(struct mtlm_job *job, struct mtlm_error *err)
{
    const int n = mtlm_ranks_on_host(job->ranks);
    struct mtlm_gpus *all;
    int *gpu;

    (void) err;
    if (job->gpu < 0)
        return 0;
    all = mtlm_ranks_host_gather(job->ranks, &job->gpus, sizeof(job->gpus),
                                 &job->host_rank);
    gpu = mtlm_ranks_host_gather(job->ranks, &job->gpu, sizeof(job->gpu),
                                 &job->host_rank);
    job->gpu_sharing = mtlm_gpus_sharing(all, n, gpu, job->host_rank);
    free(all);
    free(gpu);
    job->gpu_text = mtlm_gpu_describe(&job->gpus, job->gpu);
    job->gpu_free_bytes = mtlm_gpu_detect_free_bytes(job->gpu);
    job->gpu_bytes =
        mtlm_ranks_min(job->ranks, (int64_t) mtlm_gpu_share(job->gpu_free_bytes,
                                                            job->gpu_sharing));
    job->gpu_unshared_bytes = mtlm_ranks_min(
        job->ranks, (int64_t) mtlm_gpu_share(
                        job->gpus.gpu[job->gpu].total_bytes, job->gpu_sharing));
    return 0;
}

double mtlm_job_gpus_beside_bytes(const struct mtlm_job *job)
{
    return mtlm_plan_beside_gpu_bytes(&job->plan,
                                      job->transport == MTLM_TRANSPORT_NCCL);
}

int mtlm_job_gpus_check_host(const struct mtlm_job *job, struct mtlm_error *err)
{
    const double need =
        mtlm_ranks_host_sum(job->ranks, mtlm_job_gpus_beside_bytes(job));
    const double state = mtlm_ranks_host_sum(job->ranks, job->plan.file_bytes);
    const double available = fmin(mtlm_memory_available(), job->hosts.disk);

    if (state == 0 || need <= available)
        return mtlm_plan_check(need, available, err);
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "not enough memory beside the GPUs: training needs %.2f GiB of host "
        "memory on this machine, %.2f GiB of them for their state, and %.2f "
        "GiB are available",
        need / MTLM_GIB, state / MTLM_GIB, available / MTLM_GIB);
}
