/* Escapes text for XML. */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>

#include "launch/trace/export/xml.h"

/* Bytes of the UTF-8 sequence at text; 0: none. */
static int sequence(const unsigned char *text, uint32_t *point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const int n = text[0] < 0x80   ? 1
                  : text[0] < 0xc0 ? 0
                  : text[0] < 0xe0 ? 2
                  : text[0] < 0xf0 ? 3
                  : text[0] < 0xf8 ? 4
                                   : 0;

    *point = n == 1 ? text[0] : text[0] & (0xff >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (text[i] & 0x3f);
    }
    return *point < smallest[n] ? 0 : n;
}

static bool is_xml(uint32_t point)
{
    return point == '\t' || point == '\n' || point == '\r'
           || (point >= 0x20 && point < 0xd800)
           || (point >= 0xe000 && point < 0xfffe)
           || (point >= 0x10000 && point < 0x110000);
}

void mtlm_xml_put(FILE *f, const char *text)
{
    const unsigned char *t = (const unsigned char *) text;

    while (*t) {
        uint32_t point;
        const int n = sequence(t, &point);

        if (!n || !is_xml(point))
            putc('?', f);
        else if (point == '<')
            fputs("&lt;", f);
        else if (point == '>')
            fputs("&gt;", f);
        else if (point == '&')
            fputs("&amp;", f);
        else if (point == '"')
            fputs("&quot;", f);
        else
            fwrite(t, 1, n, f);
        t += n ? n : 1;
    }
}
