/* What a training run took, said at its end. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/job.h"
#include "runtime/memory.h"

struct taken {
    double peak, planned; /* bytes */
    double engine_share;  /* of a core */
};

static int most_memory(const struct taken *all, int ranks)
{
    int most = 0;

    for (int r = 1; r < ranks; r++)
        if (all[r].peak > all[most].peak)
            most = r;
    return most;
}

static int busiest_engine(const struct taken *all, int ranks)
{
    int most = 0;

    for (int r = 1; r < ranks; r++)
        if (all[r].engine_share > all[most].engine_share)
            most = r;
    return most;
}

void mtlm_job_print_end(struct mtlm_job *job)
{
    const struct taken mine = {mtlm_memory_peak(), job->plan.total_bytes,
                               job->engine_share};
    const double mib = 1024.0 * 1024;
    size_t bytes;
    struct taken *all =
        mtlm_ranks_gather(job->ranks, &mine, sizeof(mine), &bytes);
    int ranks, most, busiest;

    if (!all)
        return;
    ranks = bytes / sizeof(*all);
    most = most_memory(all, ranks);
    busiest = busiest_engine(all, ranks);
    if (!job->options.cluster_file)
        printf("memory: peak %.1f MiB, planned %.1f MiB (rank %d)\n",
               all[most].peak / mib, all[most].planned / mib, most);
    printf("communication thread: %.2f %% of a core (rank %d, the busiest)\n",
           100 * all[busiest].engine_share, busiest);
    fflush(stdout);
    free(all);
}
