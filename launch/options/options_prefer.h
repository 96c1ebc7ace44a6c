#ifndef MTLM_OPTIONS_PREFER_H
#define MTLM_OPTIONS_PREFER_H

#include "launch/options/options.h"

/* Two options that set the same thing. */

/* Of options a and b, keeps the one from the stronger source and forgets the
 * other.  An option of value 0 gives way.  Refuses (MTLM_EXIT_USAGE) two from
 * the same source. */
int mtlm_options_prefer(struct mtlm_options *options, enum mtlm_option_id a,
                        enum mtlm_option_id b, struct mtlm_error *err);

/* Resets the option: no value, source default. */
void mtlm_options_forget(struct mtlm_options *options,
                         enum mtlm_option_id option);

/* Returns whether the option is a number and 0.  A warm-up of 0 counts as no
 * warm-up given. */
bool mtlm_options_is_zero(const struct mtlm_options *options,
                          enum mtlm_option_id option);

#endif /* MTLM_OPTIONS_PREFER_H */
