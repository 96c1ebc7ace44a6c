#ifndef MTLM_OPTIONS_STAGES_H
#define MTLM_OPTIONS_STAGES_H

#include "graph/schedule/stage_wish.h"
#include "launch/options/options.h"

/* The virtual stages: how many a rank holds, which, and their layers. */

/* Reads what the options say about virtual stages. */
int mtlm_options_stages_resolve(struct mtlm_options *options,
                                struct mtlm_error *err);

/* Refuses stages that the given pipeline, or any where none was given, cannot
 * hold. */
int mtlm_options_stages_check(const struct mtlm_options *options,
                              struct mtlm_error *err);

/* Whether the user said how many stages a rank holds, or which layers. */
bool mtlm_options_stages_given(const struct mtlm_options *options);

/* The stages that the options ask for; borrows from options. */
struct mtlm_stage_wish mtlm_options_stages_wish(
    const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_STAGES_H */
