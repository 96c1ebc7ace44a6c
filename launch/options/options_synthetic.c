/* --synthetic: checks the options that a synthetic run takes or refuses. */

#include "config.h"

#include <stddef.h>

#include "launch/options/jitter_file.h"
#include "launch/options/options_synthetic.h"

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
            return mtlm_error_set(
                err, MTLM_EXIT_USAGE,
                "--%s needs computed values, and --%s computes none",
                needs[i].name, o->cluster_file ? "synthetic" : "simulate");
    return 0;
}

int mtlm_options_synthetic_resolve(struct mtlm_options *options,
                                   struct mtlm_error *err)
{
    mtlm_noise_table_free(options->jitter_table);
    options->jitter_table = NULL;
    if (options->jitter_file) {
        options->jitter_table =
            mtlm_jitter_file_read(options->jitter_file, err);
        if (!options->jitter_table)
            return -1;
    }
    options->jitter.table = options->jitter_table;
    return 0;
}

int mtlm_options_synthetic_check(const struct mtlm_options *options,
                                 struct mtlm_error *err)
{
    const bool run = options->request != MTLM_REQUEST_PLAN;
    const char *noise = options->jitter_file                  ? "jitter-file"
                        : mtlm_noise_is_any(&options->jitter) ? "jitter"
                                                              : NULL;
    const char *only = noise && run                   ? noise
                       : options->slow_rank.speed > 0 ? "slow-rank"
                       : options->stretch != 1        ? "stretch"
                                                      : NULL;

    if (options->cluster_file || options->simulate_file)
        return check_results(options, err);
    if (only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s changes modelled durations and needs "
                              "--synthetic CLUSTER.ini%s",
                              only,
                              only == noise ? ", --simulate or --dry-run" : "");
    return 0;
}

struct mtlm_stage_cost mtlm_options_machine(const struct mtlm_options *options,
                                            const struct mtlm_cluster *cluster)
{
    const struct mtlm_slow_rank *slow = &options->slow_rank;

    return (struct mtlm_stage_cost){.cluster = cluster,
                                    .stretch = options->stretch,
                                    .slow_rank =
                                        slow->speed > 0 ? slow->rank : -1,
                                    .speed = slow->speed};
}
