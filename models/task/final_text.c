/* Projects an answer in tokens back to the characters of its text. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/task/final_text.h"
#include "runtime/base/memory.h"

/* Returns the words of a text with blanks between them; the caller frees the
 * result. */
static char *cut_words(const char *text, const struct mtlm_bert_rules *rules)
{
    struct mtlm_bert_words *words =
        mtlm_bert_words_create(text, (int64_t) strlen(text), rules);
    size_t n = 0, room = 0;
    int64_t bytes, characters;
    char *joined = NULL;
    const char *word;

    while ((word = mtlm_bert_words_next(words, &bytes, &characters))) {
        joined = mtlm_make_room(joined, &room, n + (size_t) bytes + 2, 1);
        if (n > 0)
            joined[n++] = ' ';
        memcpy(joined + n, word, (size_t) bytes);
        n += (size_t) bytes;
    }
    mtlm_bert_words_destroy(words);
    if (!joined)
        return mtlm_strdup("");
    joined[n] = '\0';
    return joined;
}

/* Whether a character that is no blank begins at this byte. */
static bool is_letter(char byte)
{
    return byte != ' ' && (byte & 0xc0) != 0x80;
}

/* Returns the characters of text [bytes] that are no blanks. */
static int64_t count_letters(const char *text, size_t bytes)
{
    int64_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += is_letter(text[i]);
    return n;
}

/* Returns where character n begins, counted from 0 without blanks; the end of
 * text if there is none. */
static const char *find_letter(const char *text, int64_t n)
{
    for (; *text; text++)
        if (is_letter(*text) && n-- == 0)
            break;
    return text;
}

char *mtlm_final_text(const char *answer, const char *original,
                      const struct mtlm_bert_rules *rules)
{
    char *words = cut_words(original, rules);
    const char *found = *answer ? strstr(words, answer) : NULL;
    const char *begin = original, *end = original + strlen(original);

    if (found
        && count_letters(words, strlen(words))
               == count_letters(original, strlen(original))) {
        const int64_t first = count_letters(words, (size_t) (found - words));
        const int64_t n = count_letters(answer, strlen(answer));

        begin = find_letter(original, first);
        end = find_letter(original, first + n - 1);
        end += *end != '\0';
        while ((*end & 0xc0) == 0x80)
            end++;
    }
    free(words);
    return mtlm_sprintf("%.*s", (int) (end - begin), begin);
}
