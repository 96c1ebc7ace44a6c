/* Reads a list of data sets with or without weights. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/text/blend.h"
#include "models/text/blend_list.h"
#include "models/text/indexed_dataset.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

/* The words of a text. */
struct blend_words {
    char **word; /* [n], owned */
    int n;
};

static const char blanks[] = " \t\r\n";

/* Whether the whole text is the prefix of a data set. */
static bool is_prefix(const char *text)
{
    char *found = mtlm_indexed_dataset_find(text, false);
    const bool is = found != NULL;

    free(found);
    return is;
}

static void add_word(struct blend_words *words, const char *text, size_t bytes)
{
    words->word = mtlm_realloc(words->word, words->n + 1, sizeof(*words->word));
    words->word[words->n++] = mtlm_sprintf("%.*s", (int) bytes, text);
}

static struct blend_words split_words(const char *text)
{
    struct blend_words words = {0};

    if (is_prefix(text) || access(text, F_OK) == 0) {
        add_word(&words, text, strlen(text));
        return words;
    }
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        const size_t bytes = strcspn(text, blanks);

        add_word(&words, text, bytes);
        text += bytes;
    }
    return words;
}

static void free_words(struct blend_words *words)
{
    for (int i = 0; i < words->n; i++)
        free(words->word[i]);
    free(words->word);
}

static bool read_number(const char *word, double *value)
{
    char *end;

    *value = strtod(word, &end);
    return end != word && !*end && !isnan(*value);
}

/* Whether words alternate between weights and prefixes. */
static bool has_weights(const struct blend_words *words)
{
    double value;

    return words->n > 1 && words->n % 2 == 0
           && read_number(words->word[0], &value);
}

int mtlm_blend_list_parse(const char *text, const char *label,
                          struct mtlm_blend_list *list, struct mtlm_error *err)
{
    struct blend_words words = split_words(text);
    const bool weighted = has_weights(&words);
    double value, sum = 0;
    int rc = 0;

    *list = (struct mtlm_blend_list){.n = weighted ? words.n / 2 : words.n};
    list->prefix = mtlm_calloc(list->n + 1, sizeof(*list->prefix));
    if (weighted)
        list->weight = mtlm_calloc(list->n, sizeof(*list->weight));
    if (words.n == 0)
        rc =
            mtlm_error_set(err, MTLM_EXIT_USAGE, "%s names no data set", label);
    else if (list->n > MTLM_BLEND_MOST)
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "%s names %d data sets, the limit is %d", label,
                            list->n, MTLM_BLEND_MOST);
    for (int i = 0; i < list->n && rc == 0; i++) {
        const char *prefix = words.word[weighted ? 2 * i + 1 : i];

        list->prefix[i] = mtlm_strdup(prefix);
        if (weighted
            && (!read_number(words.word[2 * i], &list->weight[i])
                || !(list->weight[i] > 0) || isinf(list->weight[i])))
            rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                                "%s: the weight of %.200s is '%.40s', it must "
                                "be a number above 0",
                                label, prefix, words.word[2 * i]);
        else if (words.n > 1 && read_number(prefix, &value)
                 && !is_prefix(prefix))
            rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                                "%s: '%.40s' stands where a prefix is "
                                "expected; give WEIGHT PREFIX pairs, or "
                                "prefixes alone",
                                label, prefix);
        sum += weighted ? list->weight[i] : 0;
    }
    if (rc == 0 && isinf(sum))
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "%s: the sum of the weights is no number", label);
    free_words(&words);
    if (rc < 0)
        mtlm_blend_list_free(list);
    return rc;
}

/* Whether the text is a list of n words. */
static bool has_words(const char *text, int n)
{
    struct blend_words words = split_words(text);
    const bool has = words.n == n;

    free_words(&words);
    return has;
}

char *mtlm_blend_list_absolute(const char *text)
{
    struct blend_words words = split_words(text);
    const bool weighted = has_weights(&words);
    char *all = mtlm_strdup("");

    for (int i = 0; i < words.n; i++) {
        const bool weight = weighted && i % 2 == 0;
        char *word = weight ? mtlm_strdup(words.word[i])
                            : mtlm_disk_absolute(words.word[i]);

        all = mtlm_join(all, i ? " " : "", word);
        free(word);
    }
    /* A path with a blank is several words, unless it stands alone. */
    if (!has_words(all, words.n))
        free(all), all = NULL;
    free_words(&words);
    return all;
}

void mtlm_blend_list_free(struct mtlm_blend_list *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->prefix[i]);
    free(list->prefix);
    free(list->weight);
    *list = (struct mtlm_blend_list){0};
}
