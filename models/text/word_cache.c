/* A direct-mapped cache of the tokens of words. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "models/text/word_cache.h"
#include "runtime/base/memory.h"

enum { ENTRIES = 16384, LONGEST = 30, MOST_TOKENS = 8 };

struct mtlm_word_cache {
    struct entry {
        uint8_t bytes, n; /* bytes 0: no word */
        char word[LONGEST];
        int32_t token[MOST_TOKENS];
    } entry[ENTRIES]; /* each word has one possible entry */
};

struct mtlm_word_cache *mtlm_word_cache_create(void)
{
    return mtlm_calloc(1, sizeof(struct mtlm_word_cache));
}

void mtlm_word_cache_destroy(struct mtlm_word_cache *cache)
{
    free(cache);
}

static int64_t place(const char *word, int64_t bytes)
{
    return (int64_t) (XXH3_64bits(word, (size_t) bytes) % ENTRIES);
}

int mtlm_word_cache_find(const struct mtlm_word_cache *cache, const char *word,
                         int64_t bytes, int32_t *tokens)
{
    const struct entry *e;

    if (!cache || bytes > LONGEST)
        return -1;
    e = &cache->entry[place(word, bytes)];
    if (e->bytes != bytes || memcmp(e->word, word, (size_t) bytes) != 0)
        return -1;
    memcpy(tokens, e->token, e->n * sizeof(*tokens));
    return e->n;
}

void mtlm_word_cache_keep(struct mtlm_word_cache *cache, const char *word,
                          int64_t bytes, const int32_t *tokens, int64_t n)
{
    struct entry *e;

    if (!cache || bytes > LONGEST || n > MOST_TOKENS)
        return;
    e = &cache->entry[place(word, bytes)];
    e->bytes = (uint8_t) bytes;
    e->n = (uint8_t) n;
    memcpy(e->word, word, (size_t) bytes);
    memcpy(e->token, tokens, (size_t) n * sizeof(*tokens));
}
