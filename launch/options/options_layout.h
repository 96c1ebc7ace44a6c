#ifndef MTLM_OPTIONS_LAYOUT_H
#define MTLM_OPTIONS_LAYOUT_H

#include "launch/options/options.h"

/* The layout that the options give, or leave to launch/plan/layout_choice.h. */

/* Returns whether the options leave the layout to be chosen. */
bool mtlm_options_layout_is_free(const struct mtlm_options *options);

/* Returns whether the options leave the micro batch to be chosen: a preset or a
 * checkpoint gives it. */
bool mtlm_options_micro_batch_is_free(const struct mtlm_options *options);

/* Returns what gives a micro batch that is free: "preset" or "checkpoint". */
const char *mtlm_options_micro_batch_origin(const struct mtlm_options *options);

/* Returns the ranks of one pipeline: pipeline_parallel; 1 with placement
 * policy. */
int64_t mtlm_options_pipeline_ranks(const struct mtlm_options *options);

/* Returns what asks for another number of ranks: "start with mpirun -n", or
 * "give --world-size" where the ranks need not exist. */
const char *mtlm_options_asks_ranks(const struct mtlm_options *options);

/* Refuses (MTLM_EXIT_USAGE) a layout that does not fit a job of `ranks`
 * processes.  Ranks beyond tensor x pipeline are data-parallel and share the
 * batches. */
int mtlm_options_layout_check(const struct mtlm_options *options, int ranks,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_LAYOUT_H */
