#include "config.h"

#include <inttypes.h>

#include "launch/job/synthetic.h"
#include "launch/plan/cluster.h"

static int check_results(const struct mtlm_options *o, struct mtlm_error *err)
{
    const struct {
        const char *name;
        bool given;
    } needs[] = {
        {"dump-first-step", o->dump_dir != NULL},
        {"save", o->save_dir != NULL},
        {"load", o->load_dir != NULL},
        {"weight-hash", o->weight_hash},
        {"inject-nan", o->inject_nan > 0},
        {"summary-text", o->summary_text},
        {"log-params-norm", o->log_params_norm},
        {"log-num-zeros-in-grad", o->log_num_zeros},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].given)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--%s is about values, and --synthetic "
                                  "computes none",
                                  needs[i].name);
    return 0;
}

int mtlm_synthetic_check(const struct mtlm_options *options,
                         struct mtlm_error *err)
{
    const char *only = options->jitter > 0            ? "jitter"
                       : options->slow_rank.speed > 0 ? "slow-rank"
                       : options->stretch != 1        ? "stretch"
                                                      : NULL;

    if (options->cluster_file)
        return check_results(options, err);
    if (only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s changes modelled durations and needs "
                              "--synthetic CLUSTER.ini",
                              only);
    return 0;
}

int mtlm_job_read_cluster(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const int ranks = mtlm_ranks_size(job->ranks);

    if (!o->cluster_file)
        return 0;
    if (o->slow_rank.speed > 0 && o->slow_rank.rank >= ranks)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--slow-rank %" PRId64 ":%g: this job has the "
                              "ranks 0 to %d",
                              o->slow_rank.rank, o->slow_rank.speed, ranks - 1);
    return mtlm_cluster_read(&job->cluster, o->cluster_file, "--synthetic",
                             err);
}

struct mtlm_synthetic mtlm_job_synthetic(const struct mtlm_job *job,
                                         const struct mtlm_program *program,
                                         int rank)
{
    const struct mtlm_options *o = &job->options;
    const bool slow = o->slow_rank.speed > 0 && o->slow_rank.rank == rank;

    return (struct mtlm_synthetic){.cost =
                                       mtlm_cost_create(&job->cluster, program),
                                   .jitter = o->jitter,
                                   .speed = slow ? o->slow_rank.speed : 1,
                                   .stretch = o->stretch,
                                   .seed = o->seed,
                                   .rank = rank};
}
