/* Translates command lines for Megatron-LM by the table of megatron_list.h. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/megatron.h"
#include "launch/options/megatron_list.h"
#include "launch/options/option_table.h"
#include "launch/options/options_note.h"
#include "runtime/base/memory.h"

enum kind { SAME, MEAN, PAST, IDLE, LACK };

static const struct foreign {
    const char *name;
    enum kind kind;
    const char *values;
    const char *text; /* ours; ours; ours; why; hint */
} table[] = {
#define SAME_ENTRY(name, ours) {name, SAME, ANY, ours},
#define MEAN_ENTRY(name, values, ours) {name, MEAN, values, ours},
#define PAST_ENTRY(name, ours) {name, PAST, ANY, ours},
#define IDLE_ENTRY(name, values, why) {name, IDLE, values, why},
#define LACK_ENTRY(name, values, hint) {name, LACK, values, hint},
    MTLM_FOREIGN_LIST(SAME_ENTRY, MEAN_ENTRY, PAST_ENTRY, IDLE_ENTRY,
                      LACK_ENTRY)};

enum { LENGTH = sizeof(table) / sizeof(table[0]) };

struct translation {
    struct mtlm_options *options;
    struct mtlm_words *words;
    bool lack[LENGTH]; /* seen */
    struct mtlm_error *err;
};

/* Index in table of the name of n characters; -1: no entry, or an option of
 * this program. */
static int find_entry(const char *name, size_t n)
{
    char text[64];

    if (n >= sizeof(text))
        return -1;
    snprintf(text, sizeof(text), "%.*s", (int) n, name);
    if (mtlm_option_find(text) >= 0)
        return -1;
    for (int i = 0; i < LENGTH; i++)
        if (strcmp(table[i].name, text) == 0)
            return i;
    return -1;
}

static void add_word(struct mtlm_words *words, char *word)
{
    words->word = mtlm_realloc(words->word, words->n + 2, sizeof(*words->word));
    words->word[words->n++] = word;
    words->word[words->n] = NULL;
}

static bool is_option(const char *word)
{
    return strncmp(word, "--", 2) == 0;
}

/* Whether value is one of "a|b". */
static bool is_among(const char *value, const char *values)
{
    const size_t n = strlen(value);

    for (const char *c = values; c; c = strchr(c, '|')) {
        c += *c == '|';
        if (strcspn(c, "|") == n && strncmp(c, value, n) == 0)
            return true;
    }
    return false;
}

/* Adds the words of this program that f stands for, and a note. */
static void take_meaning(struct translation *t, const struct foreign *f,
                         const char *value)
{
    char all[160] = "";

    for (const char *c = f->text; *c; c += strspn(c, " ")) {
        const int n = strcspn(c, " ");
        char *word =
            mtlm_sprintf("--%.*s%s", n, c, strchr("=:", c[n - 1]) ? value : "");

        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
                 all[0] ? " " : "", word);
        add_word(t->words, word);
        c += n;
    }
    mtlm_options_note(t->options, "--%s is spelled %s here", f->name, all);
}

static int take_option(struct translation *t, const struct foreign *f,
                       const char *value)
{
    const bool any = !f->values || f->values[0] == '*';

    switch (f->kind) {
    case SAME:
        mtlm_options_note(t->options, "--%s is spelled --%s here", f->name,
                          f->text);
        add_word(t->words, mtlm_sprintf("--%s=%s", f->text, value));
        return 0;
    case MEAN:
    case PAST:
        take_meaning(t, f, value);
        return 0;
    case IDLE:
        if (!any && !is_among(value, f->values))
            return mtlm_error_set(t->err, MTLM_EXIT_USAGE,
                                  "--%s %.60s is not in this version, which "
                                  "only has %s",
                                  f->name, value, f->values);
        mtlm_options_note(t->options, "--%s changes nothing here: %s", f->name,
                          f->text);
        return 0;
    default:
        t->lack[f - table] = true;
        return 0;
    }
}

/* Refuses all options of the line that this program does not have, with
 * hints. */
static int refuse(const struct translation *t)
{
    char names[512] = "", hints[384] = "";
    int n = 0;

    for (int i = 0; i < LENGTH; i++) {
        char text[160] = "";

        if (!t->lack[i])
            continue;
        snprintf(text, sizeof(text), "%s--%s", n++ ? ", " : "", table[i].name);
        strncat(names, text, sizeof(names) - strlen(names) - 1);
        if (table[i].text && !strstr(hints, table[i].text)) {
            snprintf(text, sizeof(text), "; --%s: %s", table[i].name,
                     table[i].text);
            strncat(hints, text, sizeof(hints) - strlen(hints) - 1);
        }
    }
    if (n == 0)
        return 0;
    return mtlm_error_set(t->err, MTLM_EXIT_USAGE,
                          "%s %s of Megatron-LM that this version does not "
                          "have; leave %s out%s",
                          names, n > 1 ? "are options" : "is an option",
                          n > 1 ? "them" : "it", hints);
}

/* Translates option f at argv[i].  Returns the index of the option's last word,
 * or -1. */
static int take_words(struct translation *t, const struct foreign *f,
                      char *const argv[], int i)
{
    const char *equals = strchr(argv[i], '=');
    const char *value = equals ? equals + 1 : "";

    if (!f->values && equals)
        return mtlm_error_set(t->err, MTLM_EXIT_USAGE, "--%s takes no value",
                              f->name);
    if (f->values && !equals) {
        if (!argv[i + 1] || is_option(argv[i + 1]))
            return mtlm_error_set(t->err, MTLM_EXIT_USAGE, "--%s needs a value",
                                  f->name);
        value = argv[++i];
    }
    if (f->values && strcmp(f->values, MANY) == 0)
        while (argv[i + 1] && !is_option(argv[i + 1]))
            i++;
    return take_option(t, f, value) < 0 ? -1 : i;
}

/* Whether the word is an option that ends the line, such as --help. */
static bool ends_line(const char *word)
{
    const int option = is_option(word) ? mtlm_option_find(word + 2) : -1;

    return option >= 0 && mtlm_option_ends_line(option);
}

/* Whether the word is Megatron-LM's flag --keep-last of fine-tuning: ours of
 * that name has a value. */
static bool is_keep_last(char *const argv[], int i)
{
    return strcmp(argv[i], "--keep-last") == 0
           && (!argv[i + 1] || is_option(argv[i + 1]));
}

int mtlm_megatron_translate(struct mtlm_options *options, int argc,
                            char *const argv[], struct mtlm_words *words,
                            struct mtlm_error *err)
{
    struct translation t = {.options = options, .words = words, .err = err};
    bool ended = false;

    for (int i = 0; i < argc; i++) {
        const char *name = is_option(argv[i]) ? argv[i] + 2 : "";
        const int f = ended ? -1 : find_entry(name, strcspn(name, "="));

        ended = ended || ends_line(argv[i]);
        if (!ended && is_keep_last(argv, i)) {
            mtlm_options_note(options,
                              "--keep-last is spelled --keep-last-batch here");
            add_word(words, mtlm_strdup("--keep-last-batch"));
        } else if (f < 0) {
            add_word(words, mtlm_strdup(argv[i]));
        } else if ((i = take_words(&t, &table[f], argv, i)) < 0) {
            return -1;
        }
    }
    return ended ? 0 : refuse(&t);
}

void mtlm_words_free(struct mtlm_words *words)
{
    for (int i = 0; i < words->n; i++)
        free(words->word[i]);
    free(words->word);
    *words = (struct mtlm_words){0};
}

int mtlm_megatron_translate_key(const char *key, const char *value, char **text)
{
    const int f = find_entry(key, strlen(key));
    const char *begin;
    char name[64];

    if (f < 0 || table[f].kind != PAST)
        return -1;
    begin = strchr(table[f].text, '=') + 1;
    snprintf(name, sizeof(name), "%.*s", (int) (begin - 1 - table[f].text),
             table[f].text);
    *text = mtlm_sprintf("%s%s", begin, value);
    return mtlm_option_find(name);
}

const char *mtlm_megatron_renamed(const char *name)
{
    const int f = find_entry(name, strlen(name));

    return f >= 0 && table[f].kind < IDLE ? table[f].text : NULL;
}

bool mtlm_megatron_has(const char *name)
{
    const int f = find_entry(name, strlen(name));

    return f >= 0 && table[f].kind >= IDLE;
}
