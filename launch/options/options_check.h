#ifndef MTLM_OPTIONS_CHECK_H
#define MTLM_OPTIONS_CHECK_H

#include "launch/options/options.h"

/* Checks values that depend on each other. */

/* Refuses values that do not fit each other.  Call after
 * mtlm_options_resolve(). */
int mtlm_options_check(const struct mtlm_options *options,
                       struct mtlm_error *err);

#endif /* MTLM_OPTIONS_CHECK_H */
