#ifndef MTLM_OPTIONS_ANSWER_H
#define MTLM_OPTIONS_ANSWER_H

#include <stdio.h>

#include "launch/options/options.h"

/* What the program tells about itself instead of training. */

/* Prints what request, an enum mtlm_options_request, asks for. */
void mtlm_options_answer(const struct mtlm_options *options, int request,
                         FILE *out);

#endif /* MTLM_OPTIONS_ANSWER_H */
