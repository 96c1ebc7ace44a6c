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

/* Returns the schedule of a layout with so many virtual stages on a rank:
 * interleaved for several stages of published code, unless --schedule is given;
 * else schedule. */
const struct mtlm_schedule *mtlm_options_simulate_schedule(
    const struct mtlm_options *options, const struct mtlm_schedule *schedule,
    int virtual_stages);

/* Returns whether the options ask for a plan or a simulation, so that nothing
 * runs. */
bool mtlm_options_simulate_or_plan(const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_SIMULATE_H */
