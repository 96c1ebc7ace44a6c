#ifndef MTLM_ADDED_TOKENS_H
#define MTLM_ADDED_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

struct mtlm_word_cache;

/* Tokens that a text names outright, such as </s>: they are found in the text
 * before it is cut into words. */
struct mtlm_added_token {
    char *text;
    int64_t bytes;
    int32_t token;
    bool late; /* found in what the tokens that are not late leave */
};

/* Zeroed: none. */
struct mtlm_added_tokens {
    struct mtlm_added_token *added; /* [n] */
    int64_t n;
    bool begins[256]; /* whether a token begins with the byte */
};

/* Adds a token with a copy of text. */
void mtlm_added_tokens_add(struct mtlm_added_tokens *list, const char *text,
                           int32_t token, bool late);

/* Frees the tokens. */
void mtlm_added_tokens_free(struct mtlm_added_tokens *list);

/* How text between added tokens becomes tokens: arguments as for struct
 * mtlm_tokenizer's encode(). */
struct mtlm_added_tokens_text {
    const void *tokenizer;
    struct mtlm_word_cache *cache;
    int64_t (*encode)(const struct mtlm_added_tokens_text *t, const char *text,
                      int64_t bytes, bool more, int32_t *tokens);
};

/* Writes the tokens of text [bytes]: added tokens, the first one first and of
 * several there the longest, and what t makes of the text between. */
int64_t mtlm_added_tokens_encode(const struct mtlm_added_tokens *list,
                                 const struct mtlm_added_tokens_text *t,
                                 const char *text, int64_t bytes, bool more,
                                 int32_t *tokens);

#endif /* MTLM_ADDED_TOKENS_H */
