/* Last lines of a run: memory and communication threads. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/job/job_gpus.h"
#include "launch/train/train_end.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"
#include "runtime/base/units.h"
#include "runtime/machine/gpu_detect.h"

struct taken {
    double peak, planned; /* bytes */
    double engine_share;  /* of a core */
    double gpu_peak, gpu_planned;
};

static double value_at(const struct taken *taken, size_t offset)
{
    return *(const double *) ((const char *) taken + offset);
}

/* Returns the first rank with the greatest value at an offset in struct
 * taken. */
static int rank_of_most(const struct taken *all, int ranks, size_t offset)
{
    int most = 0;

    for (int r = 1; r < ranks; r++)
        if (value_at(&all[r], offset) > value_at(&all[most], offset))
            most = r;
    return most;
}

/* Sets peak and planned bytes of the GPU.  Both include libraries.  A shared
 * GPU does not show the memory of each rank. */
static void look_at_gpu(const struct mtlm_job *job, struct taken *taken)
{
    if (job->gpu < 0 || job->gpu_sharing > 1)
        return;
    taken->gpu_peak =
        job->gpu_free_bytes - mtlm_gpu_detect_free_bytes(job->gpu);
    taken->gpu_planned =
        mtlm_plan_gpu_bytes(&job->plan) + MTLM_GPU_LIBRARIES_BYTES;
}

void mtlm_train_end_print(struct mtlm_job *job)
{
    const double planned = job->gpu < 0 ? job->plan.total_bytes
                                        : job->plan.process_bytes
                                              + mtlm_job_gpus_beside_bytes(job);
    struct taken mine = {.peak = mtlm_memory_peak(),
                         .planned = planned + job->copied_bytes,
                         .engine_share = job->engine_share};
    size_t bytes;
    struct taken *all;
    int ranks, most, busiest, gpu;

    look_at_gpu(job, &mine);
    all = mtlm_ranks_gather(job->ranks, &mine, sizeof(mine), &bytes);
    if (!all)
        return;
    ranks = bytes / sizeof(*all);
    most = rank_of_most(all, ranks, offsetof(struct taken, peak));
    busiest = rank_of_most(all, ranks, offsetof(struct taken, engine_share));
    if (!job->options.cluster_file)
        printf("memory: peak %.1f MiB, planned %.1f MiB (rank %d)\n",
               all[most].peak / MTLM_MIB, all[most].planned / MTLM_MIB, most);
    gpu = rank_of_most(all, ranks, offsetof(struct taken, gpu_peak));
    if (all[gpu].gpu_peak > 0)
        printf("GPU memory: peak %.1f MiB, planned %.1f MiB (rank %d)\n",
               all[gpu].gpu_peak / MTLM_MIB, all[gpu].gpu_planned / MTLM_MIB,
               gpu);
    printf("communication thread: %.2f %% of a core (rank %d, the busiest)\n",
           100 * all[busiest].engine_share, busiest);
    mtlm_standard_output_flush();
    free(all);
}
