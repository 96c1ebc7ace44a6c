#ifndef MTLM_BERT_WORDS_H
#define MTLM_BERT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Text cut into words as BERT's basic tokenizer does (google-research/bert,
 * tokenization.py), one after the other:
 *
 *   control and format characters, U+FFFD and bytes that are not UTF-8 are
 *   left out; white space parts words, Chinese characters and marks of
 *   punctuation are words of their own; lower: letters become small and lose
 *   their accents (canonical decomposition without nonspacing marks). */
struct mtlm_bert_words;

/* Borrows text. */
struct mtlm_bert_words *mtlm_bert_words_create(const char *text, int64_t bytes,
                                               bool lower);
void mtlm_bert_words_destroy(struct mtlm_bert_words *words);

/* The next word in UTF-8, NULL after the last; the two bytes before it may be
 * written to.  Valid until the next call. */
char *mtlm_bert_words_next(struct mtlm_bert_words *words, int64_t *bytes,
                           int64_t *characters);

#endif /* MTLM_BERT_WORDS_H */
