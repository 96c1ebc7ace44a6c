/* Counts epochs in iterations. */

#include "config.h"

#include "launch/options/options_epochs.h"
#include "launch/options/options_resolve.h"

int mtlm_options_epochs_set(struct mtlm_options *options,
                            int64_t iterations_of_epoch, int64_t eval_iters,
                            struct mtlm_error *err)
{
    options->eval_iters = eval_iters;
    if (options->eval_only)
        return 0;
    options->eval_interval = iterations_of_epoch;
    options->train_iters = options->epochs * iterations_of_epoch;
    options->source[MTLM_OPT_TRAIN_ITERS] = MTLM_SOURCE_CHECKPOINT;
    return mtlm_options_set_batch(options, options->global_batch_size, err);
}
