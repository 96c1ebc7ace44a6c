/* The transport of collectives: steps of the start. */

#include "config.h"

#include <stdio.h>

#include "launch/job/job_transport.h"
#include "runtime/comm/nccl.h"

/* Refuses NCCL on this rank: NCCL needs one GPU for each rank. */
static int check_nccl(const struct mtlm_job *job, struct mtlm_error *err)
{
    if (!mtlm_nccl_is_built_in())
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--transport nccl: this program was built "
                              "without NCCL");
    if (job->gpu < 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--transport nccl: rank %d has no GPU",
                              mtlm_ranks_rank(job->ranks));
    if (job->gpu_sharing > 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--transport nccl: rank %d shares its GPU with "
                              "other ranks, and NCCL needs one GPU for each",
                              mtlm_ranks_rank(job->ranks));
    return 0;
}

/* Returns whether the options want NCCL on a rank that can use NCCL. */
static bool is_nccl_wanted(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    return o->transport == MTLM_USE_NCCL
           || (o->transport == MTLM_USE_AUTO
               && mtlm_ranks_size(job->ranks) > 1);
}

bool mtlm_job_transport_may_use_nccl(const struct mtlm_job *job)
{
    return is_nccl_wanted(job) && mtlm_nccl_is_built_in()
           && !job->options.no_gpu;
}

int mtlm_job_transport_choose(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    struct mtlm_error why;
    const int rc = check_nccl(job, &why);
    const bool all = mtlm_ranks_min(job->ranks, rc == 0) > 0;
    const bool nccl = is_nccl_wanted(job) && all;

    if (o->comm_node == MTLM_COMM_TASK && job->gpu >= 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--comm-node task is for data in the host's "
                              "memory, and rank %d has a GPU (--no-gpu trains "
                              "on CPUs)",
                              mtlm_ranks_rank(job->ranks));
    job->transport = nccl ? MTLM_TRANSPORT_NCCL : MTLM_TRANSPORT_MPI;
    if (o->transport == MTLM_USE_NCCL && rc < 0) {
        *err = why;
        return -1;
    }
    return nccl ? mtlm_nccl_load(err) : 0;
}

int mtlm_job_transport_compare(struct mtlm_job *job, struct mtlm_error *err)
{
    if (job->transport != MTLM_TRANSPORT_NCCL)
        return 0;
    return mtlm_ranks_same(job->ranks, mtlm_nccl_version(), "has another NCCL",
                           MTLM_EXIT_USAGE, err);
}

const char *mtlm_job_transport_name(const struct mtlm_job *job)
{
    static char text[40];

    if (job->gpu < 0 || mtlm_ranks_size(job->ranks) == 1)
        return NULL;
    if (job->transport == MTLM_TRANSPORT_MPI)
        return "MPI";
    snprintf(text, sizeof(text), "NCCL %s", mtlm_nccl_version());
    return text;
}

void mtlm_job_transport_print(const struct mtlm_job *job)
{
    const char *transport = mtlm_job_transport_name(job);

    if (!transport)
        return;
    if (job->transport == MTLM_TRANSPORT_MPI)
        printf("transport: MPI, through the host's memory\n");
    else
        printf("transport: collectives by %s between GPUs, sends and receives "
               "by MPI through the host\n",
               transport);
}
