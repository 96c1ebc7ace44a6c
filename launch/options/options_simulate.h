#ifndef MTLM_OPTIONS_SIMULATE_H
#define MTLM_OPTIONS_SIMULATE_H

#include "launch/options/options.h"

/* With --simulate, makes the simulation the request, and refuses options that
 * contradict.  Without --simulate, refuses options that need it.  -1 with
 * err. */
int mtlm_options_simulate_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Returns whether a rank does one thing after another, as published code did:
 * --as without --ours overlap. */
bool mtlm_options_published_order(const struct mtlm_options *options);

/* Returns whether the options ask for a plan or a simulation, so that nothing
 * runs. */
bool mtlm_options_simulate_or_plan(const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_SIMULATE_H */
