#ifndef MTLM_BYTE_ORDER_MARK_H
#define MTLM_BYTE_ORDER_MARK_H

#include <stdint.h>
#include <string.h>

/* Returns the bytes of the UTF-8 byte order mark at the begin of text [bytes],
 * or 0: the mark is no part of the text. */
static inline int64_t mtlm_byte_order_mark(const char *text, int64_t bytes)
{
    static const char mark[3] = {'\xef', '\xbb', '\xbf'};

    return bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

#endif /* MTLM_BYTE_ORDER_MARK_H */
