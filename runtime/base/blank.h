#ifndef MTLM_BLANK_H
#define MTLM_BLANK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether c is white space of ASCII, whatever the locale. */
static inline bool mtlm_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a line [bytes] of a file, with its end or without, has only blanks.
 */
static inline bool mtlm_is_blank(const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!memchr(" \t\r\n", line[i], 4))
            return false;
    return true;
}

#endif /* MTLM_BLANK_H */
