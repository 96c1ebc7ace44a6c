/* Words of the commands that messages suggest. */

#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/shell_word.h"

static bool is_plain(const char *text)
{
    return *text
           && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-_./:=+,@%")];
}

void mtlm_shell_word_print(const char *text, FILE *out)
{
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}
