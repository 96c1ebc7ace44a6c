#ifndef MTLM_GPT2_WORDS_H
#define MTLM_GPT2_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the bytes of the first word of text [bytes >= 1], cut like GPT-2's
 * tokenizer with the pattern
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * utf8proc classifies letters, numbers and white space.  A byte that is not
 * UTF-8 is a character of none of these classes.  more: after text comes
 * something that is not white space.  Source: openai/gpt-2, src/encoder.py. */
int64_t mtlm_gpt2_words_next(const char *text, int64_t bytes, bool more);

#endif /* MTLM_GPT2_WORDS_H */
