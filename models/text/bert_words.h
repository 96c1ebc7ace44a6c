#ifndef MTLM_BERT_WORDS_H
#define MTLM_BERT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Cuts text into words like BERT's basic tokenizer.  Control and format
 * characters, U+FFFD and bytes that are not UTF-8 are dropped.  White space
 * separates words.  Each Chinese character and each punctuation mark is a word.
 * Source: google-research/bert, tokenization.py. */
struct mtlm_bert_words;

/* What happens to letters, and whose details count. */
struct mtlm_bert_rules {
    bool lower;         /* letters become lower case */
    bool strip_accents; /* canonical decomposition without nonspacing marks */
    /* Details of Hugging Face's tokenizers (BertNormalizer): a sigma at the end
     * of a word is like others; characters for private use are dropped; the
     * ideographs U+2B820 to U+2B91F are letters. */
    bool hugging_face;
};

/* Returns the words of text [bytes], which is borrowed, from the first word on.
 * The caller frees the words with mtlm_bert_words_destroy(). */
struct mtlm_bert_words *mtlm_bert_words_create(
    const char *text, int64_t bytes, const struct mtlm_bert_rules *rules);

/* Frees the words. */
void mtlm_bert_words_destroy(struct mtlm_bert_words *words);

/* Returns the next word in UTF-8, or NULL after the last.  Sets *bytes and
 * *characters to the word's length.  The word is valid until the next call.
 * The caller may write to the two bytes before the word. */
char *mtlm_bert_words_next(struct mtlm_bert_words *words, int64_t *bytes,
                           int64_t *characters);

#endif /* MTLM_BERT_WORDS_H */
