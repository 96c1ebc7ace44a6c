#ifndef MTLM_OPTIONS_ANSWER_H
#define MTLM_OPTIONS_ANSWER_H

#include <stdio.h>

#include "launch/options/options.h"

/* Answers to --help, --version and other options that replace training. */

/* Prints the answer to request, an enum mtlm_options_request, to out. */
void mtlm_options_answer(const struct mtlm_options *options, int request,
                         FILE *out);

#endif /* MTLM_OPTIONS_ANSWER_H */
