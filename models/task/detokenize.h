#ifndef MTLM_DETOKENIZE_H
#define MTLM_DETOKENIZE_H

/* WikiText-103 has a blank around each word and punctuation mark.  A model
 * learned from ordinary text, so the blanks are taken out before an
 * evaluation, by the rules of Megatron-LM v2.6. */

#include <stdint.h>

/* Returns the words of the raw text [bytes]: pieces between single blanks,
 * without white space at both ends.  A line end is a word. */
int64_t mtlm_detokenize_words(const char *text, int64_t bytes);

/* Returns a copy of text [bytes] without the blanks that the format added, and
 * sets *n to its bytes; a zero byte follows.  The caller frees the copy. */
char *mtlm_detokenize(const char *text, int64_t bytes, int64_t *n);

#endif /* MTLM_DETOKENIZE_H */
