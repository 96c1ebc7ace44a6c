#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/job.h"
#include "runtime/blas_core.h"
#include "runtime/signals.h"

/* Rank that the launcher gave this process, known before MPI starts; alone:
 * -1. */
static int launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return -1;
}

static int complain(const struct mtlm_error *err, int print)
{
    if (print)
        fprintf(stderr, "mtlm-dag: %s\n", err->text);
    return err->code;
}

/* wrong: what this rank was told wrongly, or NULL. */
static int train(struct mtlm_job *job, const struct mtlm_error *wrong)
{
    struct mtlm_error err;
    int print, code;

    if (mtlm_ranks_agree(job->ranks, wrong, &err, &print) < 0
        || mtlm_job_start(job, &err, &print) < 0)
        code = complain(&err, print);
    else
        code = mtlm_job_train(job);
    mtlm_job_stop(job);
    return code;
}

int main(int argc, char **argv)
{
    struct mtlm_job job = {0};
    struct mtlm_error err;
    int request, code;

    mtlm_blas_prepare(argc, argv);
    request = mtlm_options_parse(&job.options, argc, argv, &err);
    if (request > MTLM_REQUEST_NONE) {
        if (launched_rank() <= 0) {
            if (job.options.notes)
                fprintf(stderr, "%s\n", job.options.notes);
            mtlm_options_answer(&job.options, request, stdout);
        }
        code = MTLM_EXIT_OK;
    } else if (request < 0 && launched_rank() < 0) {
        code = complain(&err, true);
    } else {
        /* Even with a wrong option, so that it is said, and said once: the
         * first rank to leave with an error takes the others with it. */
        job.ranks = mtlm_ranks_start(&argc, &argv);
        mtlm_signals_start();
        code = train(&job, request < 0 ? &err : NULL);
        /* mpirun kills the others as soon as one leaves with an error. */
        mtlm_ranks_barrier(job.ranks);
        mtlm_ranks_stop(job.ranks);
    }
    mtlm_options_free(&job.options);
    return code;
}
