#ifndef MTLM_TOKEN_LISTS_H
#define MTLM_TOKEN_LISTS_H

#include "models/text/tokenizer.h"

/* Lists of tokens, one behind the other.  All zeros: no list yet. */
struct mtlm_token_lists {
    int64_t n; /* lists */

    /* private */
    int32_t *token;
    int64_t *begin; /* [n + 1]: list i is token[begin[i]] .. */
    size_t room, begin_room;
};

/* Adds the tokens of text [bytes], at most `most` of them, as a list.  cache
 * may be NULL. */
void mtlm_token_lists_add(struct mtlm_token_lists *lists,
                          const struct mtlm_tokenizer *tokenizer,
                          struct mtlm_word_cache *cache, const char *text,
                          int64_t bytes, int64_t most);

/* Adds a copy of token [n] as a list. */
void mtlm_token_lists_put(struct mtlm_token_lists *lists, const int32_t *token,
                          int64_t n);

/* Returns list i, which the lists own until the next one is added, and its
 * number of tokens. */
const int32_t *mtlm_token_lists_get(const struct mtlm_token_lists *lists,
                                    int64_t i, int64_t *n);

/* Returns a hash of all lists and of seed. */
uint64_t mtlm_token_lists_hash(const struct mtlm_token_lists *lists,
                               uint64_t seed);

/* Frees the lists. */
void mtlm_token_lists_free(struct mtlm_token_lists *lists);

#endif /* MTLM_TOKEN_LISTS_H */
