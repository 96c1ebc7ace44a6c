#ifndef MTLM_OPTIONS_RESOLVE_H
#define MTLM_OPTIONS_RESOLVE_H

#include "launch/options/options.h"

/* Values that follow from others. */

/* Computes every value that was not given from the given ones. */
int mtlm_options_resolve(struct mtlm_options *options, struct mtlm_error *err);

/* Sets the global batch, in samples, and all values that follow from the batch.
 * For a user who gave no global batch. */
int mtlm_options_set_batch(struct mtlm_options *options, int64_t batch,
                           struct mtlm_error *err);

#endif /* MTLM_OPTIONS_RESOLVE_H */
