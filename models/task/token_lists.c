/* Lists of tokens, one behind the other. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "models/task/token_lists.h"
#include "runtime/base/memory.h"

static void make_room(struct mtlm_token_lists *lists, int64_t tokens)
{
    lists->begin = mtlm_make_room(lists->begin, &lists->begin_room,
                                  lists->n + 2, sizeof(*lists->begin));
    lists->begin[0] = 0;
    lists->token =
        mtlm_make_room(lists->token, &lists->room,
                       lists->begin[lists->n] + tokens, sizeof(*lists->token));
}

void mtlm_token_lists_add(struct mtlm_token_lists *lists,
                          const struct mtlm_tokenizer *tokenizer,
                          struct mtlm_word_cache *cache, const char *text,
                          int64_t bytes, int64_t most)
{
    int64_t at, n;

    make_room(lists, bytes + 1);
    at = lists->begin[lists->n];
    n = tokenizer->encode(tokenizer, cache, text, bytes, false,
                          lists->token + at);
    lists->begin[++lists->n] = at + (n < most ? n : most);
}

void mtlm_token_lists_put(struct mtlm_token_lists *lists, const int32_t *token,
                          int64_t n)
{
    int64_t at;

    make_room(lists, n + 1);
    at = lists->begin[lists->n];
    if (n > 0)
        memcpy(lists->token + at, token, (size_t) n * sizeof(*token));
    lists->begin[++lists->n] = at + n;
}

const int32_t *mtlm_token_lists_get(const struct mtlm_token_lists *lists,
                                    int64_t i, int64_t *n)
{
    *n = lists->begin[i + 1] - lists->begin[i];
    return lists->token + lists->begin[i];
}

uint64_t mtlm_token_lists_hash(const struct mtlm_token_lists *lists,
                               uint64_t seed)
{
    const size_t n = (size_t) lists->n;

    if (n == 0)
        return seed;
    seed = XXH3_64bits_withSeed(lists->begin, (n + 1) * sizeof(*lists->begin),
                                seed);
    return XXH3_64bits_withSeed(
        lists->token, (size_t) lists->begin[n] * sizeof(*lists->token), seed);
}

void mtlm_token_lists_free(struct mtlm_token_lists *lists)
{
    free(lists->token);
    free(lists->begin);
    *lists = (struct mtlm_token_lists){0};
}
