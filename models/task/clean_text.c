/* Cleans a text as Megatron-LM cleans the texts of tasks. */

#include "config.h"

#include <string.h>

#include "models/task/clean_text.h"
#include "models/task/python_text.h"
#include "runtime/base/memory.h"

/* Copies text [bytes] with one blank for each run of white space; returns the
 * bytes of the copy. */
static int64_t copy_words(const char *text, int64_t bytes, char *copy)
{
    int64_t n = 0;

    for (int64_t at = 0; at < bytes;) {
        const int64_t space = mtlm_python_text_space(text + at, bytes - at);

        if (space == 0)
            copy[n++] = text[at];
        else if (n == 0 || copy[n - 1] != ' ')
            copy[n++] = ' ';
        at += space ? space : 1;
    }
    return n;
}

/* Replaces each " . " by ". ", from the left, without looking at a replacement
 * again; returns the bytes left. */
static int64_t join_full_stops(char *text, int64_t bytes)
{
    int64_t n = 0;

    for (int64_t at = 0; at < bytes;) {
        if (bytes - at >= 3 && memcmp(text + at, " . ", 3) == 0) {
            text[n++] = '.';
            text[n++] = ' ';
            at += 3;
        } else {
            text[n++] = text[at++];
        }
    }
    return n;
}

char *mtlm_clean_text(const char *text, int64_t bytes, int64_t *cleaned)
{
    char *copy = mtlm_calloc((size_t) bytes + 1, 1);
    int64_t n = copy_words(text, bytes, copy);

    for (int i = 0; i < 3; i++)
        n = join_full_stops(copy, n);
    copy[n] = '\0';
    *cleaned = n;
    return copy;
}
