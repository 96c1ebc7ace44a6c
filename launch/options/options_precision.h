#ifndef MTLM_OPTIONS_PRECISION_H
#define MTLM_OPTIONS_PRECISION_H

#include "launch/options/options.h"

/* Types of weights and activations, and the scale of the loss. */

/* Resolves the type and the options of the loss scale.  Refuses
 * (MTLM_EXIT_USAGE) contradictions. */
int mtlm_options_precision_resolve(struct mtlm_options *options,
                                   struct mtlm_error *err);

/* Returns the loss scale of the run; all zero without fp16. */
struct mtlm_loss_scale mtlm_options_precision_scale(
    const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_PRECISION_H */
