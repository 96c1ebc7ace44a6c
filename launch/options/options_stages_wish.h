#ifndef MTLM_OPTIONS_STAGES_WISH_H
#define MTLM_OPTIONS_STAGES_WISH_H

#include "graph/schedule/stage_wish.h"
#include "launch/options/options.h"

/* Returns the stages that the options ask for; borrows from options. */
struct mtlm_stage_wish mtlm_options_stages_wish(
    const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_STAGES_WISH_H */
