#ifndef MTLM_WORD_CACHE_H
#define MTLM_WORD_CACHE_H

#include <stdint.h>

/* The tokens of words met lately: text repeats its words, and most of the
 * time of a tokenizer goes into taking them apart.  One of a tokenizer and of
 * a thread; 1 MiB.  Where a cache is asked for, NULL means none. */
struct mtlm_word_cache;

struct mtlm_word_cache *mtlm_word_cache_create(void);
void mtlm_word_cache_destroy(struct mtlm_word_cache *cache);

/* Writes the tokens of a word of at least one byte; returns how many, or -1
 * when it does not know. */
int mtlm_word_cache_find(const struct mtlm_word_cache *cache, const char *word,
                         int64_t bytes, int32_t *tokens);

/* Keeps the n tokens of a word; forgets those of another one. */
void mtlm_word_cache_keep(struct mtlm_word_cache *cache, const char *word,
                          int64_t bytes, const int32_t *tokens, int64_t n);

#endif /* MTLM_WORD_CACHE_H */
