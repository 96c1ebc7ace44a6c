#ifndef MTLM_OPTIONS_GENERATE_H
#define MTLM_OPTIONS_GENERATE_H

/* --generate and --prompt-file: text instead of a training. */

#include "launch/options/options.h"

/* Returns whether the job generates text. */
bool mtlm_options_generate_wanted(const struct mtlm_options *options);

/* Returns the option that names the prompts, without dashes, of a job that
 * generates text. */
const char *mtlm_options_generate_name(const struct mtlm_options *options);

/* Turns a job that generates text into one that only evaluates, in fp32 unless
 * the command says otherwise, or a file that has a prompt-file; and drops what a
 * training needs.  Call before any value follows from another.  -1 and
 * MTLM_EXIT_USAGE: an option contradicts, or is for generation only. */
int mtlm_options_generate_prepare(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Checks model and tokenizer of a job that generates text.  Call after
 * mtlm_options_tokenizer_open().  Opens the tokenizer of bytes for a model of
 * bytes.  -1 and MTLM_EXIT_USAGE. */
int mtlm_options_generate_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err);

#endif /* MTLM_OPTIONS_GENERATE_H */
