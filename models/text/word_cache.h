#ifndef MTLM_WORD_CACHE_H
#define MTLM_WORD_CACHE_H

#include <stdint.h>

/* A cache of the tokens of recent words.  Text repeats words, and tokenizers
 * spend most of their time on splitting words.  A cache belongs to one
 * tokenizer and one thread, and takes 1 MiB.  Functions that take a cache
 * accept NULL: no cache. */
struct mtlm_word_cache;

/* Creates an empty cache; the caller destroys it. */
struct mtlm_word_cache *mtlm_word_cache_create(void);

/* Frees the cache. */
void mtlm_word_cache_destroy(struct mtlm_word_cache *cache);

/* Writes the tokens of a word [bytes >= 1] to tokens.  Returns the number of
 * tokens; -1: the word is not cached. */
int mtlm_word_cache_find(const struct mtlm_word_cache *cache, const char *word,
                         int64_t bytes, int32_t *tokens);

/* Stores the tokens [n] of a word [bytes].  May drop another word. */
void mtlm_word_cache_keep(struct mtlm_word_cache *cache, const char *word,
                          int64_t bytes, const int32_t *tokens, int64_t n);

#endif /* MTLM_WORD_CACHE_H */
