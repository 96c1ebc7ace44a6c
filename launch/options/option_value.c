/* Converts values of options from text, with every limit checked, and to
 * text. */

#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option_jitter.h"
#include "launch/options/option_number.h"
#include "launch/options/option_value.h"
#include "models/text/split.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

/* Refuses text; the error shows the start of text.  what: valid values. */
static int refuse(const char *label, const char *text, const char *what,
                  struct mtlm_error *err)
{
    const int shown = 56;

    return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s is '%.*s%s', it must be %s",
                          label, shown, text,
                          strlen(text) > (size_t) shown ? "..." : "", what);
}

/* Most characters of a text, and of a list. */
enum { MOST_TEXT = 4095, MOST_LIST = 1 << 20 };

/* Whether a configuration file can hold the text, too. */
static bool text_fits(const char *text, size_t most)
{
    const size_t n = strlen(text);

    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char) *c))
            return false;
    return n && n <= most && text[0] != ' ' && text[n - 1] != ' '
           && text[0] != ';' && !strstr(text, " ;");
}

static size_t most_text(const struct mtlm_option *o)
{
    return o->type == MTLM_OPTION_WORDS ? MOST_LIST : MOST_TEXT;
}

bool mtlm_option_value_fits(enum mtlm_option_id option, const char *text)
{
    return text_fits(text, most_text(&mtlm_option_table[option]));
}

static bool parse_flag(const char *text, bool *value)
{
    static const char *const yes[] = {"yes", "true", "1"};
    static const char *const no[] = {"no", "false", "0"};

    for (int i = 0; i < 3; i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *value = strcmp(text, yes[i]) == 0;
            return true;
        }
    return false;
}

/* Position of text in choices ("a|b|c"), or -1. */
static int parse_choice(const char *text, const char *choices)
{
    const size_t n = strlen(text);
    int i = 0;

    for (const char *c = choices; c; c = strchr(c, '|'), i++) {
        c += *c == '|';
        if (strcspn(c, "|") == n && strncmp(c, text, n) == 0)
            return i;
    }
    return -1;
}

static bool parse_range(const char *text, double min, double max,
                        struct mtlm_range *value)
{
    char first[24];
    const size_t n = strcspn(text, ":");

    if (!text[n] || n >= sizeof(first))
        return false;
    memcpy(first, text, n);
    first[n] = '\0';
    return mtlm_option_number_int(first, min, max, &value->first)
           && mtlm_option_number_int(text + n + 1, (double) value->first, max,
                                     &value->last);
}

/* RANK:SPEED. */
static bool parse_slow(const char *text, struct mtlm_slow_rank *value)
{
    char rank[24];
    const size_t n = strcspn(text, ":");

    if (!text[n] || n >= sizeof(rank))
        return false;
    memcpy(rank, text, n);
    rank[n] = '\0';
    return mtlm_option_number_int(rank, 0, INT32_MAX, &value->rank)
           && mtlm_option_number_real(text + n + 1, 0.01, 100, &value->speed);
}

/* The kinds of --epilogues, and their fields. */
static const struct {
    const char *name;
    size_t offset;
} epilogue[] = {
    {"gelu", offsetof(struct mtlm_epilogue_wishes, gelu)},
    {"gelu-gradient", offsetof(struct mtlm_epilogue_wishes, gelu_gradient)},
    {"bias-gradient", offsetof(struct mtlm_epilogue_wishes, bias_gradient)},
};

enum { EPILOGUES = sizeof(epilogue) / sizeof(epilogue[0]) };

static const char epilogue_ways[] = "auto|on|off";

/* One "KIND:WAY" of n characters. */
static bool parse_epilogue(const char *text, size_t n,
                           struct mtlm_epilogue_wishes *value)
{
    char word[40], *way;
    int wish;

    snprintf(word, sizeof(word), "%.*s", (int) n, text);
    way = strchr(word, ':');
    if (n >= sizeof(word) || !way)
        return false;
    *way++ = '\0';
    wish = parse_choice(way, epilogue_ways);
    for (int i = 0; i < EPILOGUES && wish >= 0; i++)
        if (strcmp(word, epilogue[i].name) == 0) {
            memcpy((char *) value + epilogue[i].offset, &wish, sizeof(wish));
            return true;
        }
    return false;
}

/* Changes the kinds that the text names; "auto" alone changes all. */
static bool parse_epilogues(const char *text,
                            struct mtlm_epilogue_wishes *value)
{
    struct mtlm_epilogue_wishes wishes = *value;

    if (strcmp(text, "auto") == 0) {
        *value = (struct mtlm_epilogue_wishes){MTLM_EPILOGUE_AUTO};
        return true;
    }
    while (parse_epilogue(text, strcspn(text, ","), &wishes)) {
        text += strcspn(text, ",");
        if (!*text) {
            *value = wishes;
            return true;
        }
        text++;
    }
    return false;
}

/* Three whole numbers, separated by spaces or commas. */
static bool parse_ramp(const char *text, double min, double max,
                       struct mtlm_ramp *value)
{
    int64_t *const number[] = {&value->start, &value->increment,
                               &value->samples};

    for (int i = 0; i < 3; i++) {
        char word[24];
        size_t n;

        text += strspn(text, " ,");
        n = strcspn(text, " ,");
        if (n >= sizeof(word))
            return false;
        memcpy(word, text, n);
        word[n] = '\0';
        if (!mtlm_option_number_int(word, min, max, number[i]))
            return false;
        text += n;
    }
    return !text[strspn(text, " ,")];
}

static int set_numbers(const struct mtlm_option *o, void *field,
                       const char *text, const char *label,
                       struct mtlm_error *err)
{
    char what[192];

    if (o->type == MTLM_OPTION_INT) {
        if (mtlm_option_number_int(text, o->min, o->max, field))
            return 0;
        snprintf(what, sizeof(what), "a whole number from %.0f to %.0f", o->min,
                 o->max);
    } else if (o->type == MTLM_OPTION_REAL) {
        if (mtlm_option_number_real(text, o->min, o->max, field))
            return 0;
        snprintf(what, sizeof(what), "a number from %.6g to %.6g", o->min,
                 o->max);
    } else if (o->type == MTLM_OPTION_RAMP) {
        if (parse_ramp(text, o->min, o->max, field))
            return 0;
        snprintf(what, sizeof(what),
                 "START INCREMENT SAMPLES, three whole "
                 "numbers from 1 on");
    } else if (o->type == MTLM_OPTION_EPILOGUES) {
        if (parse_epilogues(text, field))
            return 0;
        snprintf(what, sizeof(what),
                 "auto, or KIND:WAY of gelu/gelu-gradient/bias-gradient and "
                 "auto/on/off");
    } else if (o->type == MTLM_OPTION_SLOW) {
        if (parse_slow(text, field))
            return 0;
        snprintf(what, sizeof(what),
                 "RANK:SPEED, a rank's number and a speed from 0.01 to 100");
    } else if (o->type == MTLM_OPTION_JITTER) {
        if (mtlm_option_jitter_parse(text, field))
            return 0;
        snprintf(what, sizeof(what), MTLM_OPTION_JITTER_FORM);
    } else {
        if (parse_range(text, o->min, o->max, field))
            return 0;
        snprintf(what, sizeof(what),
                 "A:B with A up to B, both from %.0f to %.0f", o->min, o->max);
    }
    return refuse(label, text, what, err);
}

static int set_choice(const struct mtlm_option *o, void *field,
                      const char *text, const char *label,
                      struct mtlm_error *err)
{
    const int choice = parse_choice(text, o->arg);
    char what[192] = "one of ";

    _Static_assert(sizeof(enum mtlm_lr_style) == sizeof(choice),
                   "an enum is stored as an int");
    if (choice >= 0) {
        memcpy(field, &choice, sizeof(choice));
        return 0;
    }
    strncat(what, o->arg, sizeof(what) - strlen(what) - 1);
    for (char *c = what; *c; c++)
        if (*c == '|')
            *c = '/';
    return refuse(label, text, what, err);
}

static int set_text(const struct mtlm_option *o, void *field, const char *text,
                    const char *label, struct mtlm_error *err)
{
    char **value = field;
    const size_t most = most_text(o);
    int64_t bound[MTLM_SPLITS + 1];

    if (!*text)
        return refuse(label, text, "a text that is not empty", err);
    if (!text_fits(text, most)) {
        char what[128];

        snprintf(what, sizeof(what),
                 "at most %zu printable characters, without ' ;', without ';' "
                 "at its start and without spaces at its ends",
                 most);
        return refuse(label, text, what, err);
    }
    if (o->type == MTLM_OPTION_SPLIT
        && mtlm_split_parse(text, 1, bound, NULL) < 0)
        return refuse(label, text,
                      "one to three shares, not all of them 0, such as "
                      "969, 30, 1",
                      err);
    free(*value);
    *value = mtlm_strdup(text);
    return 0;
}

int mtlm_option_value_set(struct mtlm_options *options,
                          enum mtlm_option_id option, const char *text,
                          enum mtlm_option_source source, const char *label,
                          struct mtlm_error *err)
{
    const struct mtlm_option *o = &mtlm_option_table[option];
    void *field = mtlm_option_field(options, option);
    int rc = 0;

    switch (o->type) {
    case MTLM_OPTION_INT:
    case MTLM_OPTION_REAL:
    case MTLM_OPTION_RANGE:
    case MTLM_OPTION_RAMP:
    case MTLM_OPTION_SLOW:
    case MTLM_OPTION_JITTER:
    case MTLM_OPTION_EPILOGUES:
        rc = set_numbers(o, field, text, label, err);
        break;
    case MTLM_OPTION_TEXT:
    case MTLM_OPTION_WORDS:
    case MTLM_OPTION_SPLIT:
        rc = set_text(o, field, text, label, err);
        break;
    case MTLM_OPTION_PROMPT:
        free(*(char **) field);
        *(char **) field = mtlm_strdup(text);
        break;
    case MTLM_OPTION_FLAG:
        if (!parse_flag(text, field))
            rc = refuse(label, text, "yes or no", err);
        break;
    case MTLM_OPTION_CHOICE:
        rc = set_choice(o, field, text, label, err);
        break;
    case MTLM_OPTION_ACTION:
        options->request = (enum mtlm_options_request) o->min;
        break;
    }
    if (rc == 0)
        options->source[option] = source;
    return rc;
}

static void write_choice(const char *choices, int choice, FILE *out)
{
    for (; choice > 0; choice--)
        choices = strchr(choices, '|') + 1;
    fprintf(out, "%.*s", (int) strcspn(choices, "|"), choices);
}

static void write_epilogues(const struct mtlm_epilogue_wishes *value, FILE *out)
{
    for (int i = 0; i < EPILOGUES; i++) {
        int wish;

        memcpy(&wish, (const char *) value + epilogue[i].offset, sizeof(wish));
        fprintf(out, "%s%s:", i ? "," : "", epilogue[i].name);
        write_choice(epilogue_ways, wish, out);
    }
}

void mtlm_option_value_write(const struct mtlm_options *options,
                             enum mtlm_option_id option, FILE *out)
{
    const struct mtlm_option *o = &mtlm_option_table[option];
    const void *field = mtlm_option_value(options, option);
    const struct mtlm_range *range = field;
    const struct mtlm_ramp *ramp = field;
    const struct mtlm_slow_rank *slow = field;
    const char *const *text = field;

    switch (o->type) {
    case MTLM_OPTION_INT:
        fprintf(out, "%" PRId64, *(const int64_t *) field);
        break;
    case MTLM_OPTION_REAL:
        mtlm_option_number_write(*(const double *) field, out);
        break;
    case MTLM_OPTION_TEXT:
    case MTLM_OPTION_WORDS:
    case MTLM_OPTION_SPLIT:
        fputs(*text ? *text : "", out);
        break;
    case MTLM_OPTION_FLAG:
        fputs(*(const bool *) field ? "yes" : "no", out);
        break;
    case MTLM_OPTION_CHOICE:
        write_choice(o->arg, *(const int *) field, out);
        break;
    case MTLM_OPTION_RANGE:
        fprintf(out, "%" PRId64 ":%" PRId64, range->first, range->last);
        break;
    case MTLM_OPTION_RAMP:
        fprintf(out, "%" PRId64 " %" PRId64 " %" PRId64, ramp->start,
                ramp->increment, ramp->samples);
        break;
    case MTLM_OPTION_SLOW:
        fprintf(out, "%" PRId64 ":", slow->rank);
        mtlm_option_number_write(slow->speed, out);
        break;
    case MTLM_OPTION_JITTER:
        mtlm_option_jitter_write(field, out);
        break;
    case MTLM_OPTION_EPILOGUES:
        write_epilogues(field, out);
        break;
    case MTLM_OPTION_PROMPT:
    case MTLM_OPTION_ACTION:
        break;
    }
}

char *mtlm_option_value_text(const struct mtlm_options *options,
                             enum mtlm_option_id option)
{
    struct mtlm_text text;

    mtlm_option_value_write(options, option, mtlm_text_open(&text));
    return mtlm_text_close(&text);
}

bool mtlm_option_value_absent(const struct mtlm_options *options,
                              enum mtlm_option_id option)
{
    const struct mtlm_option *o = &mtlm_option_table[option];
    const void *field = mtlm_option_value(options, option);

    if (o->type == MTLM_OPTION_INT)
        return o->min > 0 && *(const int64_t *) field == 0;
    if (o->type == MTLM_OPTION_RAMP)
        return ((const struct mtlm_ramp *) field)->increment == 0;
    return mtlm_option_owns_text(option) && !*(char *const *) field;
}
