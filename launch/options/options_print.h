#ifndef MTLM_OPTIONS_PRINT_H
#define MTLM_OPTIONS_PRINT_H

#include <stdio.h>

#include "launch/options/options.h"

/* All values as text. */

/* Returns a copy whose --load is the user's, and not the one in effect of
 * --pretrained-checkpoint.  The texts are the options'. */
struct mtlm_options mtlm_options_as_given(const struct mtlm_options *options);

/* --print-config: all values in the form of the configuration file.  Defaults,
 * values that follow from others, and a micro batch that may shrink stand there
 * as comments: a job with the file has the same values. */
void mtlm_options_print(const struct mtlm_options *options, FILE *out);

#endif /* MTLM_OPTIONS_PRINT_H */
