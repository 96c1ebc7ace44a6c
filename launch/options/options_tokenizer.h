#ifndef MTLM_OPTIONS_TOKENIZER_H
#define MTLM_OPTIONS_TOKENIZER_H

#include "launch/options/options.h"

/* The tokenizer of the data, and the vocabulary size. */

/* Opens the tokenizer, if one was given, and sets the vocabulary size from the
 * tokenizer. */
int mtlm_options_tokenizer_open(struct mtlm_options *options,
                                struct mtlm_error *err);

/* Returns how many tokens data may have: those of the tokenizer, for a BERT
 * with special tokens besides text.  Without a tokenizer: the model's, which
 * may be more. */
int64_t mtlm_options_tokenizer_size(const struct mtlm_options *options);

/* Returns the type of --tokenizer-type where only files are given. */
const char *mtlm_options_tokenizer_default(
    const struct mtlm_model *model, const struct mtlm_tokenizer_files *files);

/* Returns the tokenizer that the size of the vocabulary tells, where none is
 * given: bytes, or NULL. */
const struct mtlm_tokenizer *mtlm_options_tokenizer_of_size(
    const struct mtlm_model *model);

/* For --name of a GPT: opens the tokenizer of bytes for a model of bytes, if
 * no tokenizer is given.  -1 and MTLM_EXIT_USAGE: none fits. */
int mtlm_options_tokenizer_need_text(struct mtlm_options *options,
                                     const char *name, struct mtlm_error *err);

#endif /* MTLM_OPTIONS_TOKENIZER_H */
