#ifndef MTLM_WORD_CACHE_H
#define MTLM_WORD_CACHE_H

#include <stdint.h>

/* A cache of the tokens of recent words: text repeats its words, and tokenizers
 * spend most of their time on splitting them.  A cache belongs to one tokenizer
 * and one thread; 1 MiB.  Functions that take a cache accept NULL: no cache. */
struct mtlm_word_cache;

/* Creates an empty cache; the caller destroys it. */
struct mtlm_word_cache *mtlm_word_cache_create(void);
void mtlm_word_cache_destroy(struct mtlm_word_cache *cache);

/* Writes the tokens of a word [bytes >= 1]; returns how many; -1: not cached.
 */
int mtlm_word_cache_find(const struct mtlm_word_cache *cache, const char *word,
                         int64_t bytes, int32_t *tokens);

/* Stores the tokens [n] of a word, in place of those of another word. */
void mtlm_word_cache_keep(struct mtlm_word_cache *cache, const char *word,
                          int64_t bytes, const int32_t *tokens, int64_t n);

#endif /* MTLM_WORD_CACHE_H */
