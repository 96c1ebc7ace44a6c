#ifndef MTLM_BLOOM_WORDS_H
#define MTLM_BLOOM_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Words of BLOOM's tokenizer: what its pattern " ?[^(\s|[...])]+" matches, and
 * the text between two matches.  In the class are white space, ( ) | and the
 * marks in place of the three dots. */
struct mtlm_bloom_class;

/* Returns the class of such a pattern, which the caller frees with free();
 * NULL: another pattern. */
struct mtlm_bloom_class *mtlm_bloom_words_class(const char *pattern);

/* Whether text [bytes >= 1] begins with a character of the class. */
bool mtlm_bloom_words_in_class(const struct mtlm_bloom_class *c,
                               const char *text, int64_t bytes);

/* Returns the bytes of the first word of text [bytes >= 1].  A byte that is not
 * UTF-8 is a character outside of the class. */
int64_t mtlm_bloom_words_next(const struct mtlm_bloom_class *c,
                              const char *text, int64_t bytes);

#endif /* MTLM_BLOOM_WORDS_H */
