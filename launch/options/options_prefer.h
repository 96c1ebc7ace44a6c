#ifndef MTLM_OPTIONS_PREFER_H
#define MTLM_OPTIONS_PREFER_H

#include "launch/options/options.h"

/* Options that are given and do not count: of two that set the same thing one,
 * and those that a job does not use. */

/* Of options a and b, keeps the one from the stronger source and forgets the
 * other.  An option of value 0 gives way.  Refuses (MTLM_EXIT_USAGE) two from
 * the same source. */
int mtlm_options_prefer(struct mtlm_options *options, enum mtlm_option_id a,
                        enum mtlm_option_id b, struct mtlm_error *err);

/* Resets the option: no value, source default. */
void mtlm_options_forget(struct mtlm_options *options,
                         enum mtlm_option_id option);

/* Notes that the option has no effect with --NAME, where the command line gave
 * the option. */
void mtlm_options_note_unused(struct mtlm_options *options,
                              enum mtlm_option_id option, const char *name);

/* Notes and forgets option[n], which a job with --NAME does not use. */
void mtlm_options_forget_unused(struct mtlm_options *options,
                                const enum mtlm_option_id *option, size_t n,
                                const char *name);

/* Returns whether the option is a number and 0.  A warm-up of 0 counts as no
 * warm-up given. */
bool mtlm_options_is_zero(const struct mtlm_options *options,
                          enum mtlm_option_id option);

#endif /* MTLM_OPTIONS_PREFER_H */
