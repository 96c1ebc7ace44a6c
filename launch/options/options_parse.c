/* Options from their five sources: defaults, checkpoint, preset, configuration
 * file, command line. */

#include "config.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/config_file.h"
#include "launch/options/megatron.h"
#include "launch/options/option_value.h"
#include "launch/options/options_argp.h"
#include "launch/options/options_check.h"
#include "launch/options/options_checkpoint.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_note.h"
#include "launch/options/options_parse.h"
#include "launch/options/options_resolve.h"
#include "launch/options/options_seeds.h"
#include "launch/options/options_task.h"
#include "launch/options/suggest.h"
#include "launch/options/unknown.h"
#include "models/presets.h"
#include "runtime/base/memory.h"

/* The command line as given, in order. */
struct line {
    struct given {
        enum mtlm_option_id option;
        const char *text;
    } * given;
    int n;
    char **joined; /* texts that this file allocates */
    int n_joined;
    enum mtlm_options_request request; /* request that ends the parse */
    char **rest;                       /* words behind it, or NULL */
    const int64_t *seed; /* of the run of --seeds, or NULL: not one of them */
    bool failed;
    struct mtlm_error *err;
};

static int line_fail(struct line *line)
{
    line->failed = true;
    return EINVAL;
}

/* At most this many options are named for an ambiguous prefix. */
enum { SHOWN = 4 };

/* Returns "a, --b": the first options with that prefix, or NULL.  Sets *matches
 * to the number of options with the prefix.  The caller frees the text. */
static char *begun_by(const char *name, int *matches)
{
    char *list = NULL;

    *matches = 0;
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (strncmp(mtlm_option_table[i].name, name, strlen(name)) == 0
            && ++*matches <= SHOWN)
            list = mtlm_join(list, ", --", mtlm_option_table[i].name);
    return list;
}

/* Sets the reason why argp could not use an argument: argp prints nothing. */
static int explain(struct line *line, const char *arg)
{
    const size_t dashes = strspn(arg, "-");
    char name[64], *begun;
    int option, matches;

    snprintf(name, sizeof(name), "%.*s", (int) strcspn(arg + dashes, "="),
             arg + dashes);
    option = mtlm_option_find(name);
    begun = begun_by(name, &matches);
    if (dashes != 2 || !*name || (option < 0 && matches < 2))
        mtlm_unknown_refuse(dashes < 2    ? "-"
                            : dashes == 2 ? "--"
                                          : "---",
                            name, line->err);
    else if (option < 0)
        mtlm_error_set(
            line->err, MTLM_EXIT_USAGE,
            "--%s can stand for %d options; write more letters: --%s%s", name,
            matches, begun, matches > SHOWN ? " ..." : "");
    else if (mtlm_option_table[option].arg)
        mtlm_error_set(line->err, MTLM_EXIT_USAGE,
                       "--%s needs a value: --%s %s", name, name,
                       mtlm_option_table[option].arg);
    else
        mtlm_error_set(line->err, MTLM_EXIT_USAGE, "--%s takes no value", name);
    free(begun);
    return line_fail(line);
}

/* Returns the argument at which argp stopped.  argp has usually passed this
 * argument.  Exception: argp stands before a word such as -hidden-size, which
 * argp reads as letters. */
static const char *culprit(const struct argp_state *state)
{
    const char *last = state->argv[state->next - 1];
    const char *next = state->argv[state->next];
    const int option = strncmp(last, "--", 2) ? -1 : mtlm_option_find(last + 2);
    const bool fine =
        *last != '-' || (option >= 0 && !mtlm_option_table[option].arg);

    return fine && next && *next == '-' ? next : last;
}

/* Number of words of the option's value. */
static int words_of(int option)
{
    int n = 1;

    for (const char *c = mtlm_option_table[option].arg; *c; c++)
        n += *c == ' ';
    return n;
}

/* Returns the value of an option of several words, joined by spaces.  text: the
 * first word, or all words. */
static const char *join_words(struct line *line, int option, char *text,
                              struct argp_state *state)
{
    const bool list = mtlm_option_table[option].type == MTLM_OPTION_WORDS;
    char *all = mtlm_strdup(text);

    if (list || !strpbrk(text, " ,"))
        for (int i = 1; list || i < words_of(option); i++) {
            const char *next = state->argv[state->next];

            if (!next || strncmp(next, "--", 2) == 0)
                break;
            all = mtlm_join(all, " ", next);
            state->next++;
        }
    line->joined =
        mtlm_realloc(line->joined, line->n_joined + 1, sizeof(*line->joined));
    return line->joined[line->n_joined++] = all;
}

static error_t take_argument(int key, char *text, struct argp_state *state)
{
    struct line *line = state->input;
    const int option = key - MTLM_ARGP_KEY;
    const char *value = text ? text : "yes";

    if (key == ARGP_KEY_ARG) {
        mtlm_error_set(line->err, MTLM_EXIT_USAGE,
                       "unexpected argument '%.60s'; the name of an option "
                       "begins with --",
                       text);
        return line_fail(line);
    }
    if (key == ARGP_KEY_ERROR && !line->failed)
        return explain(line, culprit(state));
    if (option < 0 || option >= MTLM_OPTION_COUNT)
        return ARGP_ERR_UNKNOWN;
    if (text && words_of(option) > 1)
        value = join_words(line, option, text, state);
    line->given[line->n++] = (struct given){option, value};
    if (mtlm_option_ends_line(option)) {
        line->request =
            (enum mtlm_options_request) mtlm_option_table[option].min;
        line->rest = state->argv + state->next;
        state->next = state->argc; /* argp parses no further, as after --help */
    }
    return 0;
}

static int read_line(struct line *line, int argc, char **argv)
{
    struct argp_option options[MTLM_ARGP_OPTIONS];
    const struct argp argp = {.options = options, .parser = take_argument};
    const unsigned flags =
        ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER;

    mtlm_options_argp_fill(options);
    if (argp_parse(&argp, argc, argv, flags, NULL, line) == 0)
        return 0;
    if (!line->failed)
        mtlm_error_set(line->err, MTLM_EXIT_USAGE,
                       "the command line cannot be read");
    return -1;
}

/* The last value of the option on the line, else the file's, else NULL. */
static const char *last_text(const struct line *line,
                             const struct mtlm_config *config,
                             enum mtlm_option_id option)
{
    for (int i = line->n - 1; i >= 0; i--)
        if (line->given[i].option == option)
            return line->given[i].text;
    for (int i = 0; i < config->n; i++)
        if (config->entry[i].option == option)
            return config->entry[i].text;
    return NULL;
}

static void set_defaults(struct mtlm_options *options)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if (*o->fallback && !mtlm_option_needed(i)
            && mtlm_option_value_set(options, i, o->fallback,
                                     MTLM_SOURCE_DEFAULT, o->name, NULL)
                   < 0)
            assert(!"a default that its own option refuses");
    }
}

static int unknown_preset(const char *name, struct mtlm_error *err)
{
    struct mtlm_suggest nearest = {.name = name};

    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++)
        mtlm_suggest_offer(&nearest, p->name);
    if (nearest.best)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "unknown model '%.60s'; did you mean %s?", name,
                              nearest.best);
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "unknown model '%.60s'; mtlm-dag --list-models "
                          "prints the names",
                          name);
}

static int set_preset(struct mtlm_options *options, const char *name,
                      struct mtlm_error *err)
{
    const struct mtlm_preset *preset = mtlm_preset_find(name);
    char *values, *word, *rest;

    if (!preset)
        return unknown_preset(name, err);
    values = mtlm_strdup(preset->values);
    for (word = strtok_r(values, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *text = strchr(word, '=');
        int option;

        assert(text && "a preset is made of name=value");
        *text++ = '\0';
        option = mtlm_option_find(word);
        if (option < 0
            || mtlm_option_value_set(options, option, text, MTLM_SOURCE_PRESET,
                                     word, NULL)
                   < 0)
            assert(!"a preset's value that its option refuses");
    }
    free(values);
    return 0;
}

static int set_config(struct mtlm_options *options, const char *path,
                      const struct mtlm_config *config, struct mtlm_error *err)
{
    for (int i = 0; i < config->n; i++) {
        const struct mtlm_config_entry *e = &config->entry[i];
        const char *name = mtlm_option_table[e->option].name;

        if (mtlm_option_value_set(options, e->option, e->text,
                                  MTLM_SOURCE_CONFIG, name, err)
            < 0)
            return mtlm_error_prefix(err, "%s:%d", path, e->line);
        if (strcmp(e->key, name) != 0)
            mtlm_options_note(options, "%s:%d: %s is spelled %s=%s here", path,
                              e->line, e->key, name, e->text);
    }
    /* The line, which comes next, may replace the prompts. */
    options->config_has_prompts = options->prompt_file != NULL;
    return 0;
}

static int set_line(struct mtlm_options *options, const struct line *line,
                    struct mtlm_error *err)
{
    for (int i = 0; i < line->n; i++) {
        const struct given *g = &line->given[i];
        char label[64];

        snprintf(label, sizeof(label), "--%s",
                 mtlm_option_table[g->option].name);
        if (mtlm_option_value_set(options, g->option, g->text,
                                  MTLM_SOURCE_COMMAND_LINE, label, err)
            < 0)
            return -1;
    }
    if (line->seed)
        mtlm_options_seeds_choose(options, *line->seed);
    return 0;
}

/* Fills the gaps from the checkpoint of --load, which has to agree with the
 * result. */
static int complete(struct mtlm_options *options, struct mtlm_error *err)
{
    struct mtlm_options_checkpoint found = {0};
    int rc = mtlm_options_seeds_read(options, err);

    if (rc == 0)
        rc = mtlm_options_finetune_begin(options, err);
    if (rc == 0)
        rc = mtlm_options_checkpoint_take(options, &found, err);
    if (rc == 0)
        rc = mtlm_options_resolve(options, err);
    if (rc == 0)
        rc = mtlm_options_checkpoint_compare(options, &found, err);
    mtlm_options_checkpoint_free(&found);
    return rc;
}

/* --fit: the jobs stand in its file, so the line has the machine only. */
static int set_fit(struct mtlm_options *options, const struct line *line,
                   struct mtlm_error *err)
{
    for (int i = 0; i < line->n; i++) {
        const enum mtlm_option_id option = line->given[i].option;

        if (option != MTLM_OPT_FIT && option != MTLM_OPT_SIMULATE)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--fit takes the options of each job from "
                                  "its file; leave out --%s",
                                  mtlm_option_name(option));
    }
    if (set_line(options, line, err) < 0)
        return -1;
    if (!options->simulate_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--fit is for --simulate CLUSTER.ini");
    return options->request = MTLM_REQUEST_FIT;
}

/* Sets values from the weakest source to the strongest; the checkpoint is last
 * and replaces defaults only. */
static int set_all(struct mtlm_options *options, const struct line *line,
                   struct mtlm_config *config, struct mtlm_error *err)
{
    const char *path = last_text(line, config, MTLM_OPT_CONFIG), *model;

    if (path && mtlm_config_read(config, path, err) < 0)
        return -1;
    model = last_text(line, config, MTLM_OPT_MODEL);
    if (model && strcmp(model, "help") == 0)
        return options->request = MTLM_REQUEST_MODELS;
    set_defaults(options);
    if (last_text(line, config, MTLM_OPT_FIT))
        return set_fit(options, line, err);
    if ((model && set_preset(options, model, err) < 0)
        || set_config(options, path, config, err) < 0
        || set_line(options, line, err) < 0 || complete(options, err) < 0
        || mtlm_options_check(options, err) < 0)
        return -1;
    return options->request;
}

/* Returns the value of the last --task behind the request, or NULL. */
static const char *task_behind(const struct line *line)
{
    const char *task = NULL;

    for (char **word = line->rest; word && *word; word++)
        if (strncmp(*word, "--task=", 7) == 0)
            task = *word + 7;
        else if (strcmp(*word, "--task") == 0 && word[1])
            task = word[1];
    return task;
}

/* Returns the request that ended the line.  --help with --task is about the
 * task. */
static int take_request(struct mtlm_options *options, const struct line *line,
                        struct mtlm_error *err)
{
    const struct mtlm_config none = {0};
    const char *task = last_text(line, &none, MTLM_OPT_TASK);

    if (!task)
        task = task_behind(line);
    if (line->request == MTLM_REQUEST_HELP && task
        && mtlm_options_task_find(options, task, err) < 0)
        return -1;
    return options->request = line->request;
}

static int parse(struct mtlm_options *options, int argc, char **argv,
                 const int64_t *seed, struct mtlm_error *err)
{
    struct line line = {.err = err, .seed = seed};
    struct mtlm_config config = {0};
    struct mtlm_words words = {0};
    int rc;

    *options = (struct mtlm_options){0};
    rc = mtlm_megatron_translate(options, argc, argv, &words, err);
    /* The translated line may have more words than argv. */
    line.given = mtlm_calloc(words.n, sizeof(*line.given));
    if (rc == 0)
        rc = read_line(&line, words.n, words.word);
    if (rc == 0 && line.request)
        rc = take_request(options, &line, err);
    else if (rc == 0)
        rc = set_all(options, &line, &config, err);
    mtlm_config_free(&config);
    for (int i = 0; i < line.n_joined; i++)
        free(line.joined[i]);
    free(line.joined);
    free(line.given);
    mtlm_words_free(&words);
    return rc;
}

int mtlm_options_parse(struct mtlm_options *options, int argc, char **argv,
                       struct mtlm_error *err)
{
    return parse(options, argc, argv, NULL, err);
}

int mtlm_options_parse_seed(struct mtlm_options *options, int argc, char **argv,
                            int64_t seed, struct mtlm_error *err)
{
    return parse(options, argc, argv, &seed, err);
}
