/* Notes for the user: how the program understood the options. */

#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/options_note.h"
#include "runtime/base/memory.h"

void mtlm_options_note(struct mtlm_options *options, const char *format, ...)
{
    char *before = options->notes, *text;
    va_list args;

    va_start(args, format);
    text = mtlm_vsprintf(format, args);
    va_end(args);
    if (before && strstr(before, text)) { /* the same note again */
        free(text);
        return;
    }
    options->notes =
        mtlm_sprintf("%s%s%s", before ? before : "", before ? "\n" : "", text);
    free(before);
    free(text);
}
