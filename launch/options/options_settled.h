#ifndef MTLM_OPTIONS_SETTLED_H
#define MTLM_OPTIONS_SETTLED_H

#include "launch/options/options.h"

/* Returns whether another source than the checkpoint gives the option, or an
 * option that contradicts it.  The job does not take the option from the
 * checkpoint then. */
bool mtlm_options_settled(const struct mtlm_options *options,
                          enum mtlm_option_id option);

#endif /* MTLM_OPTIONS_SETTLED_H */
