#ifndef MTLM_UNICODE_H
#define MTLM_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

/* Characters of texts in UTF-8, with the meanings that Python gives them. */

/* Returns the character at text + *at, beyond ASCII, and moves *at behind it.
 * -1: a byte that is not UTF-8. */
int32_t mtlm_unicode_next_wide(const char *text, int64_t bytes, int64_t *at);

/* Returns the character at text + *at and moves *at behind it; *at < bytes.
 * -1: a byte that is not UTF-8. */
static inline int32_t mtlm_unicode_next(const char *text, int64_t bytes,
                                        int64_t *at)
{
    return (text[*at] & 0x80) == 0 ? text[(*at)++]
                                   : mtlm_unicode_next_wide(text, bytes, at);
}

/* Returns the characters of text [bytes], without bytes that are not UTF-8, and
 * their number; the caller frees them. */
int32_t *mtlm_unicode_decode(const char *text, int64_t bytes, int64_t *n);

/* Returns characters [n] in UTF-8 with a NUL behind them; the caller frees the
 * text. */
char *mtlm_unicode_encode(const int32_t *c, int64_t n);

/* Returns the number of characters of a valid text. */
int64_t mtlm_unicode_characters(const char *text);

/* Python's str.isalnum(): letters and numbers of all scripts. */
bool mtlm_unicode_is_alnum(int32_t c);

/* Whether a sigma at i in c [n] ends a word, and takes its final form
 * (Unicode's Final_Sigma): a cased letter comes before and none after, past
 * case-ignorable characters. */
bool mtlm_unicode_ends_word(const int32_t *c, int64_t n, int64_t i);

/* Returns the lower case of character i of c [n], like Python's str.lower().  A
 * capital sigma at the end of a word takes its final form.  An I with a dot
 * above (U+0130) becomes an i; in Python a U+0307 follows. */
int32_t mtlm_unicode_lower(const int32_t *c, int64_t n, int64_t i);

#endif /* MTLM_UNICODE_H */
