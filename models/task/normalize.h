#ifndef MTLM_NORMALIZE_H
#define MTLM_NORMALIZE_H

/* Returns a text as the official scripts of SQuAD compare answers; the caller
 * frees it.  Letters become lower case, punctuation of ASCII goes away, then
 * the words "a", "an" and "the", and words are separated by one blank. */
char *mtlm_normalize_answer(const char *text);

#endif /* MTLM_NORMALIZE_H */
