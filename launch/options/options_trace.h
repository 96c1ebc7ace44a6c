#ifndef MTLM_OPTIONS_TRACE_H
#define MTLM_OPTIONS_TRACE_H

#include "launch/options/options.h"

/* The iterations of a run, and those that the run traces or disturbs. */

/* Returns the last iteration, from 1, of a run that begins after `begin`
 * iterations; `begin` if none is left to train.  As in Megatron-LM, every
 * --exit-interval ends a run. */
int64_t mtlm_options_last_iteration(const struct mtlm_options *options,
                                    int64_t begin);

/* If the user gave none, sets the traced iterations of a run that begins after
 * `begin` iterations.  Leaves out the first two iterations, which warm up
 * StarPU's performance models. */
void mtlm_options_trace_place(struct mtlm_options *options, int64_t begin);

/* Notes an --inject-nan that a run does not reach that begins after `begin`
 * iterations. */
void mtlm_options_note_nan(struct mtlm_options *options, int64_t begin);

#endif /* MTLM_OPTIONS_TRACE_H */
