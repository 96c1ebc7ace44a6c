/* White space and UTF-8, by the rules of Python. */

#include "config.h"

#include <stdbool.h>
#include <string.h>

#include <utf8proc.h>

#include "models/task/python_text.h"
#include "runtime/base/memory.h"

static bool is_ascii_space(unsigned char c)
{
    return (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= ' ');
}

int64_t mtlm_python_text_space(const char *text, int64_t bytes)
{
    utf8proc_int32_t c;
    int64_t n;

    if ((unsigned char) *text < 128)
        return is_ascii_space((unsigned char) *text);
    n = utf8proc_iterate((const utf8proc_uint8_t *) text, bytes, &c);
    if (n <= 0)
        return 0;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return n;
    default:
        return c == 0x85 ? n : 0;
    }
}

void mtlm_python_text_strip(const char **text, int64_t *bytes)
{
    const char *const from = *text;
    const int64_t n = *bytes;
    int64_t first = n, end = n;

    for (int64_t at = 0; at < n;) {
        const int64_t space = mtlm_python_text_space(from + at, n - at);

        if (space == 0 && first == n)
            first = at;
        at += space ? space : 1;
        if (space == 0)
            end = at;
    }
    *text = from + first;
    *bytes = first < n ? end - first : 0;
}

char *mtlm_python_text_squeeze(const char *text)
{
    const int64_t bytes = (int64_t) strlen(text);
    char *squeezed = mtlm_calloc((size_t) bytes + 1, 1), *end = squeezed;
    bool blank = false;

    for (int64_t at = 0; at < bytes;) {
        const int64_t space = mtlm_python_text_space(text + at, bytes - at);

        at += space;
        if (space > 0) {
            blank = end > squeezed;
            continue;
        }
        if (blank)
            *end++ = ' ';
        blank = false;
        *end++ = text[at++];
    }
    return squeezed;
}

int64_t mtlm_python_text_invalid(const char *text, int64_t bytes)
{
    for (int64_t at = 0; at < bytes;) {
        utf8proc_int32_t c;
        int64_t n = 1;

        if ((unsigned char) text[at] >= 128)
            n = utf8proc_iterate((const utf8proc_uint8_t *) text + at,
                                 bytes - at, &c);
        if (n <= 0)
            return at;
        at += n;
    }
    return -1;
}
