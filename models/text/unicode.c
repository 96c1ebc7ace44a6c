/* Characters of texts in UTF-8, with the meanings that Python gives them. */

#include "config.h"

#include <stddef.h>

#include <utf8proc.h>

#include "models/text/unicode.h"
#include "runtime/base/memory.h"

int32_t mtlm_unicode_next_wide(const char *text, int64_t bytes, int64_t *at)
{
    utf8proc_int32_t c;
    const utf8proc_ssize_t n = utf8proc_iterate(
        (const utf8proc_uint8_t *) text + *at, bytes - *at, &c);

    *at += n > 0 ? n : 1;
    return n > 0 ? c : -1;
}

int32_t *mtlm_unicode_decode(const char *text, int64_t bytes, int64_t *n)
{
    int32_t *c = mtlm_calloc((size_t) bytes + 1, sizeof(*c));

    *n = 0;
    for (int64_t at = 0; at < bytes;) {
        c[*n] = mtlm_unicode_next(text, bytes, &at);
        *n += c[*n] >= 0;
    }
    return c;
}

char *mtlm_unicode_encode(const int32_t *c, int64_t n)
{
    utf8proc_uint8_t *text = mtlm_calloc((size_t) (4 * n + 1), 1), *end = text;

    for (int64_t i = 0; i < n; i++)
        end += utf8proc_encode_char(c[i], end);
    return (char *) text;
}

int64_t mtlm_unicode_characters(const char *text)
{
    int64_t n = 0;

    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

bool mtlm_unicode_is_alnum(int32_t c)
{
    const utf8proc_category_t kind = utf8proc_category(c);

    return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO)
           || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

/* Whether a letter is cased, in Unicode's sense. */
static bool is_cased(int32_t c)
{
    const utf8proc_category_t kind = utf8proc_category(c);

    return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL
           || kind == UTF8PROC_CATEGORY_LT || utf8proc_islower(c)
           || utf8proc_isupper(c);
}

/* Whether Unicode ignores a character beside a final sigma. */
static bool is_case_ignorable(int32_t c)
{
    static const int32_t within[] = {
        '\'',   '.',    ':',    0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
        0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};

    for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
        if (c == within[i])
            return true;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return false;
    }
}

bool mtlm_unicode_ends_word(const int32_t *c, int64_t n, int64_t i)
{
    int64_t before = i - 1, after = i + 1;

    while (before >= 0 && is_case_ignorable(c[before]))
        before--;
    if (before < 0 || !is_cased(c[before]))
        return false;
    while (after < n && is_case_ignorable(c[after]))
        after++;
    return after == n || !is_cased(c[after]);
}

int32_t mtlm_unicode_lower(const int32_t *c, int64_t n, int64_t i)
{
    if (c[i] == 0x130)
        return 'i';
    return c[i] == 0x3a3 && mtlm_unicode_ends_word(c, n, i)
               ? 0x3c2
               : utf8proc_tolower(c[i]);
}
