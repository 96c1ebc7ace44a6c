#ifndef MTLM_OPTIONS_TOKENIZER_H
#define MTLM_OPTIONS_TOKENIZER_H

#include "launch/options/options.h"

/* The tokenizer of the data, and the vocabulary size. */

/* Opens the tokenizer, if one was given, and sets the vocabulary size from the
 * tokenizer. */
int mtlm_options_tokenizer_open(struct mtlm_options *options,
                                struct mtlm_error *err);

#endif /* MTLM_OPTIONS_TOKENIZER_H */
