#ifndef MTLM_OPTIONS_TRACE_H
#define MTLM_OPTIONS_TRACE_H

#include "launch/options/options.h"

/* Which iterations a run does, and which of them it traces. */

/* The last iteration of a run that begins after `begin` iterations.  As in
 * Megatron-LM, every --exit-interval ends a run. */
int64_t mtlm_options_last_iteration(const struct mtlm_options *options,
                                    int64_t begin);

/* Places the traced iterations of such a run where the user gave none.  Leaves
 * out the first two iterations, which warm up StarPU's performance models. */
void mtlm_options_trace_place(struct mtlm_options *options, int64_t begin);

#endif /* MTLM_OPTIONS_TRACE_H */
