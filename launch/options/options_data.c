/* Data options: --data-path or one option per split, on the command line or in
 * a file. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "launch/options/option_value.h"
#include "launch/options/options_data.h"
#include "launch/options/options_note.h"
#include "launch/options/options_prefer.h"
#include "models/text/blend_list.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"
#include "runtime/file/mapped_file.h"

/* The option of each split, and its key in a file of lists. */
static const struct {
    enum mtlm_option_id option;
    const char *key;
} of_split[MTLM_SPLITS] = {{MTLM_OPT_TRAIN_DATA_PATH, "train"},
                           {MTLM_OPT_VALID_DATA_PATH, "valid"},
                           {MTLM_OPT_TEST_DATA_PATH, "test"}};

/* Options that name data of all splits, and of single splits. */
static const enum mtlm_option_id of_all[] = {MTLM_OPT_DATA_PATH,
                                             MTLM_OPT_DATA_ARGS_PATH};
static const enum mtlm_option_id of_one[] = {
    MTLM_OPT_TRAIN_DATA_PATH, MTLM_OPT_VALID_DATA_PATH, MTLM_OPT_TEST_DATA_PATH,
    MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH};

enum {
    OF_ALL = sizeof(of_all) / sizeof(of_all[0]),
    OF_ONE = sizeof(of_one) / sizeof(of_one[0]),
    MOST_BYTES = 1 << 20 /* of a file of lists */
};

/* The strongest source that gives one of the options; *which: that option. */
static enum mtlm_option_source strongest(const struct mtlm_options *o,
                                         const enum mtlm_option_id *list, int n,
                                         enum mtlm_option_id *which)
{
    enum mtlm_option_source most = MTLM_SOURCE_DEFAULT;

    for (int i = 0; i < n; i++)
        if (mtlm_options_source(o, list[i]) > most) {
            most = mtlm_options_source(o, list[i]);
            *which = list[i];
        }
    return most;
}

/* Drops the options that weaker sources give. */
static int choose_kind(struct mtlm_options *o, struct mtlm_error *err)
{
    enum mtlm_option_id all = of_all[0], one = of_one[0];
    const enum mtlm_option_source from_all = strongest(o, of_all, OF_ALL, &all);
    const enum mtlm_option_source from_one = strongest(o, of_one, OF_ONE, &one);

    if (from_all == from_one && from_all != MTLM_SOURCE_DEFAULT)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--%s names the data of all splits and --%s those "
            "of one; give one of them",
            mtlm_option_name(all), mtlm_option_name(one));
    for (int i = 0; i < OF_ALL && from_all < from_one; i++)
        mtlm_options_forget(o, of_all[i]);
    for (int i = 0; i < OF_ONE && from_one < from_all; i++)
        mtlm_options_forget(o, of_one[i]);
    for (int i = 0; i < MTLM_SPLITS; i++)
        if (mtlm_options_prefer(o, of_split[i].option,
                                MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH, err)
            < 0)
            return -1;
    return mtlm_options_prefer(o, MTLM_OPT_DATA_PATH, MTLM_OPT_DATA_ARGS_PATH,
                               err);
}

/* Drops --mock-data or the data, whichever comes from the weaker source.  Of
 * both kinds of data, one is left. */
static int choose_mock(struct mtlm_options *o, struct mtlm_error *err)
{
    const enum mtlm_option_source mock =
        mtlm_options_source(o, MTLM_OPT_MOCK_DATA);
    enum mtlm_option_id data = of_all[0];
    enum mtlm_option_source from = strongest(o, of_all, OF_ALL, &data);

    if (from == MTLM_SOURCE_DEFAULT)
        from = strongest(o, of_one, OF_ONE, &data);
    if (!o->mock_data || from == MTLM_SOURCE_DEFAULT)
        return 0;
    if (from == mock)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--mock-data trains on made-up tokens and --%s "
                              "names data; give one of them",
                              mtlm_option_name(data));
    if (from > mock)
        mtlm_options_forget(o, MTLM_OPT_MOCK_DATA);
    for (int i = 0; i < OF_ALL && from < mock; i++)
        mtlm_options_forget(o, of_all[i]);
    for (int i = 0; i < OF_ONE && from < mock; i++)
        mtlm_options_forget(o, of_one[i]);
    return 0;
}

/* Sets a list from a file; a configuration that is printed has the file. */
static int set_list(struct mtlm_options *o, enum mtlm_option_id option,
                    char *text, const char *path, struct mtlm_error *err)
{
    size_t n;

    for (char *c = text; *c; c++)
        *c = strchr("\t\r\n", *c) ? ' ' : *c;
    text += strspn(text, " ");
    for (n = strlen(text); n > 0 && text[n - 1] == ' ';)
        text[--n] = '\0';
    if (n == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s names no data set for --%s", path,
                              mtlm_option_name(option));
    return mtlm_option_value_set(o, option, text, MTLM_SOURCE_DEFAULT, path,
                                 err);
}

/* Reads the words of --data-args-path into --data-path. */
static int read_words(struct mtlm_options *o, struct mtlm_error *err)
{
    struct mtlm_mapped_file file = {0};
    char *text;
    int rc;

    if (!o->data_args_path)
        return 0;
    if (mtlm_mapped_file_read(&file, o->data_args_path, MOST_BYTES, err) < 0)
        return mtlm_error_prefix(err, "--data-args-path");
    text = mtlm_sprintf("%.*s", (int) file.bytes, (const char *) file.data);
    rc = set_list(o, MTLM_OPT_DATA_PATH, text, o->data_args_path, err);
    free(text);
    mtlm_mapped_file_close(&file);
    return rc;
}

/* Joins the words of a JSON array; NULL: something else than an array of
 * texts. */
static char *join_array(const json_t *array)
{
    char *all = json_is_array(array) ? mtlm_strdup("") : NULL;
    const json_t *word;
    size_t i;

    json_array_foreach(array, i, word)
    {
        if (!json_is_string(word)) {
            free(all);
            return NULL;
        }
        all = mtlm_join(all, " ", json_string_value(word));
    }
    return all;
}

/* Reads {"train": [...], "valid": [...], "test": [...]}. */
static int read_lists(struct mtlm_options *o, struct mtlm_error *err)
{
    const char *path = o->per_split_data_args_path;
    json_t *lists;
    int rc = 0;

    if (!path)
        return 0;
    lists = mtlm_json_file_read(path, err);
    if (!lists)
        return mtlm_error_prefix(err, "--per-split-data-args-path");
    for (int i = 0; i < MTLM_SPLITS && rc == 0; i++) {
        const json_t *list = json_object_get(lists, of_split[i].key);
        char *text;

        if (!list || json_is_null(list))
            continue;
        text = join_array(list);
        rc = text ? set_list(o, of_split[i].option, text, path, err)
                  : mtlm_error_set(err, MTLM_EXIT_INPUT,
                                   "%s: \"%s\": expected an array of texts, "
                                   "weights and prefixes",
                                   path, of_split[i].key);
        free(text);
    }
    json_decref(lists);
    return rc;
}

static int check_list(const struct mtlm_options *o, enum mtlm_option_id option,
                      struct mtlm_error *err)
{
    const char *text = *(char *const *) mtlm_option_value(o, option);
    struct mtlm_blend_list list = {0};
    char label[64];
    int rc = 0;

    snprintf(label, sizeof(label), "--%s", mtlm_option_name(option));
    if (text)
        rc = mtlm_blend_list_parse(text, label, &list, err);
    mtlm_blend_list_free(&list);
    return rc;
}

static int check_lists(const struct mtlm_options *o, struct mtlm_error *err)
{
    int rc = check_list(o, MTLM_OPT_DATA_PATH, err);

    for (int i = 0; i < MTLM_SPLITS && rc == 0; i++)
        rc = check_list(o, of_split[i].option, err);
    return rc;
}

/* Refuses a training without training or validation data. */
static int check_splits(struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->data_path || o->mock_data)
        return 0;
    if (!o->train_data_path && !o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "there is data for another split and none to "
                              "train on; give --train-data-path");
    if (!o->valid_data_path && o->eval_iters > 0 && o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--eval-only needs data to validate on; give "
                              "--valid-data-path");
    if (!o->valid_data_path && o->eval_iters > 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--train-data-path leaves none to validate on; "
                              "give --valid-data-path, or --eval-iters 0");
    if (mtlm_options_source(o, MTLM_OPT_SPLIT) == MTLM_SOURCE_COMMAND_LINE)
        mtlm_options_note(o, "--split is not used: each split has data of its "
                             "own");
    return 0;
}

int mtlm_options_data_resolve(struct mtlm_options *options,
                              struct mtlm_error *err)
{
    if (choose_kind(options, err) < 0 || choose_mock(options, err) < 0
        || read_words(options, err) < 0 || read_lists(options, err) < 0
        || check_lists(options, err) < 0)
        return -1;
    if (!options->data_path && !options->train_data_path
        && !options->valid_data_path && !options->test_data_path)
        options->mock_data = true;
    return check_splits(options, err);
}

enum mtlm_option_id mtlm_options_data_option(enum mtlm_split split)
{
    return of_split[split].option;
}
