#ifndef MTLM_OPTIONS_STAGES_H
#define MTLM_OPTIONS_STAGES_H

#include "launch/options/options.h"

/* The virtual stages that options ask for: number per rank, and layers of
 * each. */

/* Reads --stage-layers into layers_of_stage.  Of two options that set the
 * stages, keeps the one from the stronger source.  Refuses (MTLM_EXIT_USAGE)
 * two from the same source. */
int mtlm_options_stages_resolve(struct mtlm_options *options,
                                struct mtlm_error *err);

/* Refuses (MTLM_EXIT_USAGE) stages that the given pipeline cannot hold.  If no
 * pipeline is given: stages that no pipeline can hold. */
int mtlm_options_stages_check(const struct mtlm_options *options,
                              struct mtlm_error *err);

/* Returns whether the user gave the stages per rank, or the layers of
 * stages. */
bool mtlm_options_stages_given(const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_STAGES_H */
