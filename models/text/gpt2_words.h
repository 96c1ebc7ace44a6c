#ifndef MTLM_GPT2_WORDS_H
#define MTLM_GPT2_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the first word of a text of at least one byte, as GPT-2's
 * tokenizer cuts it (openai/gpt-2, src/encoder.py) with the pattern
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * Letters, numbers and white space are those of utf8proc's Unicode; bytes
 * that are not UTF-8 are none of them, each a character of its own.  more: the
 * text goes on with something that is not white space. */
int64_t mtlm_gpt2_words_next(const char *text, int64_t bytes, bool more);

#endif /* MTLM_GPT2_WORDS_H */
