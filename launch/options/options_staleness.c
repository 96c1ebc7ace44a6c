/* --weight-staleness: the options that contradict. */

#include "config.h"

#include "launch/options/options_staleness.h"

int mtlm_options_staleness_check(const struct mtlm_options *options,
                                 struct mtlm_error *err)
{
    const struct mtlm_options *o = options;

    if (o->weight_staleness == 0 || o->eval_only)
        return 0;
    if (o->fp16 && o->loss_scale == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--weight-staleness 1 with --fp16 needs "
                              "--loss-scale X: a dynamic scale follows the "
                              "step before, which no pass waits for");
    if (o->simulate_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--simulate computes one iteration, and "
                              "--weight-staleness 1 changes what lies between "
                              "two of them; --dry-run evaluates both");
    return 0;
}
