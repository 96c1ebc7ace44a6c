/* Normalizes answers as the official scripts of SQuAD do. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/task/normalize.h"
#include "models/task/python_text.h"
#include "models/text/unicode.h"
#include "runtime/base/memory.h"

static bool is_punctuation(int32_t c)
{
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96)
           || (c >= 123 && c <= 126);
}

/* Writes c [n] in lower case without punctuation to out [2 n]; returns the
 * number of characters. */
static int64_t make_plain(const int32_t *c, int64_t n, int32_t *out)
{
    int64_t written = 0;

    for (int64_t i = 0; i < n; i++) {
        if (is_punctuation(c[i]))
            continue;
        out[written++] = mtlm_unicode_lower(c, n, i);
        if (c[i] == 0x130)
            out[written++] = 0x307; /* the dot of the capital I */
    }
    return written;
}

static bool is_article(const int32_t *c, int64_t n)
{
    return (n == 1 && c[0] == 'a') || (n == 2 && c[0] == 'a' && c[1] == 'n')
           || (n == 3 && c[0] == 't' && c[1] == 'h' && c[2] == 'e');
}

/* Makes each article a blank; returns the number of characters left. */
static int64_t drop_articles(int32_t *c, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        end = i;
        while (end < n && mtlm_unicode_is_alnum(c[end]))
            end++;
        if (is_article(c + i, end - i)) {
            c[kept++] = ' ';
            continue;
        }
        if (end == i)
            end++;
        memmove(c + kept, c + i, (size_t) (end - i) * sizeof(*c));
        kept += end - i;
    }
    return kept;
}

char *mtlm_normalize_answer(const char *text)
{
    int64_t n;
    int32_t *c = mtlm_unicode_decode(text, (int64_t) strlen(text), &n);
    int32_t *plain = mtlm_calloc((size_t) (2 * n + 1), sizeof(*plain));
    char *encoded, *squeezed;

    n = make_plain(c, n, plain);
    n = drop_articles(plain, n);
    encoded = mtlm_unicode_encode(plain, n);
    squeezed = mtlm_python_text_squeeze(encoded);
    free(encoded);
    free(plain);
    free(c);
    return squeezed;
}
