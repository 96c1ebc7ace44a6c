#ifndef MTLM_OPTIONS_PREFER_H
#define MTLM_OPTIONS_PREFER_H

#include "launch/options/options.h"

/* Two options that say the same in different ways. */

/* Keeps the one from the stronger source and forgets the other.  A zero gives
 * way to the other.  Refuses two from the same source. */
int mtlm_options_prefer(struct mtlm_options *options, enum mtlm_option_id a,
                        enum mtlm_option_id b, struct mtlm_error *err);

/* Sets the option back: no value, from the defaults. */
void mtlm_options_forget(struct mtlm_options *options,
                         enum mtlm_option_id option);

/* Whether the option is a number and 0.  A warm-up of 0 means no warm-up, as
 * if none were given. */
bool mtlm_options_is_zero(const struct mtlm_options *options,
                          enum mtlm_option_id option);

#endif /* MTLM_OPTIONS_PREFER_H */
