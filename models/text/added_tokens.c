/* Tokens that a text names outright. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/text/added_tokens.h"
#include "runtime/base/memory.h"

void mtlm_added_tokens_add(struct mtlm_added_tokens *list, const char *text,
                           int32_t token, bool late)
{
    list->added =
        mtlm_realloc(list->added, (size_t) list->n + 1, sizeof(*list->added));
    list->added[list->n++] =
        (struct mtlm_added_token){.text = mtlm_strdup(text),
                                  .bytes = (int64_t) strlen(text),
                                  .token = token,
                                  .late = late};
    list->begins[(unsigned char) *text] = true;
}

void mtlm_added_tokens_free(struct mtlm_added_tokens *list)
{
    for (int64_t i = 0; i < list->n; i++)
        free(list->added[i].text);
    free(list->added);
    *list = (struct mtlm_added_tokens){0};
}

/* Returns the longest token with which text begins; NULL: none. */
static const struct mtlm_added_token *at_begin(
    const struct mtlm_added_tokens *list, bool late, const char *text,
    int64_t bytes)
{
    const struct mtlm_added_token *found = NULL;

    for (int64_t i = 0; i < list->n; i++) {
        const struct mtlm_added_token *a = &list->added[i];

        if (a->late == late && a->bytes <= bytes
            && memcmp(text, a->text, (size_t) a->bytes) == 0
            && (!found || a->bytes > found->bytes))
            found = a;
    }
    return found;
}

/* Encodes text that holds no token but late ones, or none with late. */
static int64_t encode_rest(const struct mtlm_added_tokens *list, bool late,
                           const struct mtlm_added_tokens_text *t,
                           const char *text, int64_t bytes, bool more,
                           int32_t *tokens);

/* Encodes text that may hold tokens, late ones or the others. */
static int64_t encode_with(const struct mtlm_added_tokens *list, bool late,
                           const struct mtlm_added_tokens_text *t,
                           const char *text, int64_t bytes, bool more,
                           int32_t *tokens)
{
    int64_t n = 0, from = 0;

    for (int64_t at = 0; at < bytes;) {
        const struct mtlm_added_token *found =
            list->begins[(unsigned char) text[at]]
                ? at_begin(list, late, text + at, bytes - at)
                : NULL;

        if (!found) {
            at++;
            continue;
        }
        n += encode_rest(list, late, t, text + from, at - from, false,
                         tokens + n);
        tokens[n++] = found->token;
        from = at += found->bytes;
    }
    return n
           + encode_rest(list, late, t, text + from, bytes - from, more,
                         tokens + n);
}

static int64_t encode_rest(const struct mtlm_added_tokens *list, bool late,
                           const struct mtlm_added_tokens_text *t,
                           const char *text, int64_t bytes, bool more,
                           int32_t *tokens)
{
    if (bytes == 0)
        return 0;
    return late ? t->encode(t, text, bytes, more, tokens)
                : encode_with(list, true, t, text, bytes, more, tokens);
}

int64_t mtlm_added_tokens_encode(const struct mtlm_added_tokens *list,
                                 const struct mtlm_added_tokens_text *t,
                                 const char *text, int64_t bytes, bool more,
                                 int32_t *tokens)
{
    return list->n == 0
               ? t->encode(t, text, bytes, more, tokens)
               : encode_with(list, false, t, text, bytes, more, tokens);
}
