/* --synthetic: the modelled machine, and the durations of tasks. */

#include "config.h"

#include "launch/job/job_synthetic.h"
#include "launch/plan/cluster.h"
#include "launch/plan/cluster_notes.h"

int mtlm_job_synthetic_read(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;

    if (!o->cluster_file)
        return 0;
    if (mtlm_cluster_read(&job->cluster, o->cluster_file, "--synthetic", err)
        < 0)
        return -1;
    mtlm_cluster_notes(o, &job->cluster, o->cluster_file,
                       mtlm_ranks_size(job->ranks));
    return 0;
}

struct mtlm_synthetic mtlm_job_synthetic_of_rank(
    const struct mtlm_job *job, const struct mtlm_program *program, int rank)
{
    const struct mtlm_options *o = &job->options;
    const bool slow = o->slow_rank.speed > 0 && o->slow_rank.rank == rank;

    return (struct mtlm_synthetic){.cost =
                                       mtlm_cost_create(&job->cluster, program),
                                   .noise = o->jitter,
                                   .speed = slow ? o->slow_rank.speed : 1,
                                   .stretch = o->stretch,
                                   .seed = o->seed,
                                   .rank = rank};
}
