/* Counts epochs in iterations. */

#include "config.h"

#include <inttypes.h>

#include "launch/options/option_table.h"
#include "launch/options/options_epochs.h"
#include "launch/options/options_resolve.h"

int mtlm_options_epochs_set(struct mtlm_options *options,
                            int64_t iterations_of_epoch, int64_t eval_iters,
                            struct mtlm_error *err)
{
    const int64_t most = (int64_t) mtlm_option_table[MTLM_OPT_TRAIN_ITERS].max;

    options->eval_iters = eval_iters;
    if (options->eval_only)
        return 0;
    /* A checkpoint stores the length, and --load reads it as --train-iters. */
    if (options->epochs > most / iterations_of_epoch)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--epochs %" PRId64 " of %" PRId64
                              " iterations each are more than %" PRId64
                              " iterations; give at most %" PRId64,
                              options->epochs, iterations_of_epoch, most,
                              most / iterations_of_epoch);
    options->eval_interval = iterations_of_epoch;
    options->train_iters = options->epochs * iterations_of_epoch;
    options->source[MTLM_OPT_TRAIN_ITERS] = MTLM_SOURCE_CHECKPOINT;
    return mtlm_options_set_batch(options, options->global_batch_size, err);
}
