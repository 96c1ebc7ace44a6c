#ifndef MTLM_OPTIONS_TOKENIZER_H
#define MTLM_OPTIONS_TOKENIZER_H

#include "launch/options/options.h"

/* The tokenizer of the data, and the vocabulary it brings. */

/* Opens the tokenizer, if one was given, and takes the size of the vocabulary
 * from it. */
int mtlm_options_tokenizer_open(struct mtlm_options *options,
                                struct mtlm_error *err);

#endif /* MTLM_OPTIONS_TOKENIZER_H */
