#ifndef MTLM_OPTIONS_LAYOUT_H
#define MTLM_OPTIONS_LAYOUT_H

#include "launch/options/options.h"

/* The layout that the options give, or leave to be chosen. */

/* Whether the options leave the layout, or the micro batch, to be chosen. */
bool mtlm_options_layout_is_free(const struct mtlm_options *options);
bool mtlm_options_micro_batch_is_free(const struct mtlm_options *options);

/* Ranks that hold a pipeline: as many as it has stages, or with placement
 * policy one. */
int64_t mtlm_options_pipeline_ranks(const struct mtlm_options *options);

/* Whether the layout of the options fits a job of `ranks` processes.  Ranks
 * beyond tensor x pipeline are data-parallel and share the batches. */
int mtlm_options_layout_check(const struct mtlm_options *options, int ranks,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_LAYOUT_H */
