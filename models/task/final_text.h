#ifndef MTLM_FINAL_TEXT_H
#define MTLM_FINAL_TEXT_H

#include "models/text/bert_words.h"

/* Returns the part of `original` that an answer in tokens' text stands for,
 * with its capitals, accents and spaces; the caller frees the text.  Example:
 * "steve smith" of "Steve Smith's" is "Steve Smith".  rules: of
 * the tokenizer.
 *
 * The words that original consists of (models/text/bert_words.h) must hold the
 * answer, and have as many characters as original, without blanks.  Otherwise
 * all of original is returned.  Source: google-research/bert, run_squad.py,
 * get_final_text(). */
char *mtlm_final_text(const char *answer, const char *original,
                      const struct mtlm_bert_rules *rules);

#endif /* MTLM_FINAL_TEXT_H */
