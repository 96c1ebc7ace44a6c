/* The options that a checkpoint stores: to JSON, back, and compared. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/options/option_value.h"
#include "launch/options/options_note.h"
#include "launch/options/options_settled.h"
#include "launch/options/options_stored.h"
#include "launch/options/options_stored_paths.h"
#include "runtime/file/json_file.h"

/* Options that decide the tensors and their meaning. */
static const enum mtlm_option_id of_model[] = {
    MTLM_OPT_MODEL_TYPE,
    MTLM_OPT_NUM_LAYERS,
    MTLM_OPT_HIDDEN_SIZE,
    MTLM_OPT_FFN_HIDDEN_SIZE,
    MTLM_OPT_NUM_ATTENTION_HEADS,
    MTLM_OPT_MAX_POSITION_EMBEDDINGS,
    MTLM_OPT_VOCAB_SIZE,
    MTLM_OPT_LAYERNORM_EPSILON,
    MTLM_OPT_APPLY_RESIDUAL_CONNECTION_POST_LAYERNORM,
    MTLM_OPT_APPLY_QUERY_KEY_LAYER_SCALING,
    MTLM_OPT_NO_BIAS_GELU_FUSION,
    MTLM_OPT_BERT_NO_BINARY_HEAD,
    MTLM_OPT_OPENAI_GELU,
    MTLM_OPT_POSITION_EMBEDDING_TYPE,
    MTLM_OPT_EMBED_LAYERNORM};

/* Options that decide the samples and their order. */
static const enum mtlm_option_id of_samples[] = {
    MTLM_OPT_SEQ_LENGTH, MTLM_OPT_SEED,           MTLM_OPT_SPLIT,
    MTLM_OPT_MASK_PROB,  MTLM_OPT_SHORT_SEQ_PROB, MTLM_OPT_EOD_MASK_LOSS};

/* Model options whose value may follow from other options. */
static const enum mtlm_option_id resolved[] = {
    MTLM_OPT_VOCAB_SIZE, MTLM_OPT_APPLY_QUERY_KEY_LAYER_SCALING,
    MTLM_OPT_NO_BIAS_GELU_FUSION};

/* Options of the stored groups that each run chooses anew. */
static const enum mtlm_option_id of_run[] = {
    MTLM_OPT_LOG_INTERVAL,
    MTLM_OPT_LOG_THROUGHPUT,
    MTLM_OPT_LOG_PARAMS_NORM,
    MTLM_OPT_LOG_NUM_ZEROS_IN_GRAD,
    MTLM_OPT_SUMMARY_TEXT,
    MTLM_OPT_EXIT_INTERVAL,
    MTLM_OPT_EXIT_DURATION_IN_MINS,
    MTLM_OPT_NO_QUERY_KEY_LAYER_SCALING,
    MTLM_OPT_DATA_ARGS_PATH,
    MTLM_OPT_PER_SPLIT_DATA_ARGS_PATH,
    MTLM_OPT_LOG_FORMAT,
    MTLM_OPT_PRETRAINED_CHECKPOINT,
    MTLM_OPT_PREDICTIONS,
    MTLM_OPT_SEEDS};

/* Options that are stored whether given or not: a batch that follows from the
 * layout would change with the layout; lists may come from a file. */
static const enum mtlm_option_id always[] = {
    MTLM_OPT_GLOBAL_BATCH_SIZE, MTLM_OPT_DATA_PATH, MTLM_OPT_TRAIN_DATA_PATH,
    MTLM_OPT_VALID_DATA_PATH, MTLM_OPT_TEST_DATA_PATH};

enum {
    OF_FIRST_MODEL = 12, /* of_model[0 .. 11] are in every checkpoint */
    OF_MODEL = sizeof(of_model) / sizeof(of_model[0]),
    OF_SAMPLES = sizeof(of_samples) / sizeof(of_samples[0]),
    RESOLVED = sizeof(resolved) / sizeof(resolved[0]),
    OF_RUN = sizeof(of_run) / sizeof(of_run[0]),
    ALWAYS = sizeof(always) / sizeof(always[0])
};

static bool is_among(enum mtlm_option_id option,
                     const enum mtlm_option_id *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == option)
            return true;
    return false;
}

/* ---- to JSON ---- */

static void add_options(const struct mtlm_options *options,
                        const enum mtlm_option_id *list, int n,
                        json_t *settings)
{
    for (int i = 0; i < n; i++) {
        char *value = mtlm_option_value_text(options, list[i]);

        json_object_set_new(settings, mtlm_option_name(list[i]),
                            json_string(value));
        free(value);
    }
}

json_t *mtlm_options_stored_model(const struct mtlm_options *options)
{
    json_t *settings = json_object();

    add_options(options, of_model, OF_MODEL, settings);
    return settings;
}

json_t *mtlm_options_stored_settings(const struct mtlm_options *options)
{
    json_t *settings = mtlm_options_stored_model(options);

    add_options(options, of_samples, OF_SAMPLES, settings);
    return settings;
}

/* Whether the options of a checkpoint may have the option. */
static bool is_other(enum mtlm_option_id option)
{
    switch (mtlm_option_table[option].group) {
    case MTLM_OPTION_GROUP_MODEL:
    case MTLM_OPTION_GROUP_REGULARISATION:
    case MTLM_OPTION_GROUP_TRAINING:
    case MTLM_OPTION_GROUP_OPTIMIZER:
    case MTLM_OPTION_GROUP_PRECISION:
    case MTLM_OPTION_GROUP_DATA:
    case MTLM_OPTION_GROUP_TASKS:
        return !is_among(option, of_run, OF_RUN)
               && !is_among(option, of_model, OF_MODEL)
               && !is_among(option, of_samples, OF_SAMPLES);
    default:
        return false;
    }
}

/* Whether a checkpoint of this job has the option among the others. */
static bool is_stored(const struct mtlm_options *options,
                      enum mtlm_option_id option)
{
    return is_other(option)
           && (mtlm_options_given(options, option)
               || is_among(option, always, ALWAYS))
           && !mtlm_option_value_absent(options, option);
}

json_t *mtlm_options_stored_others(const struct mtlm_options *options)
{
    json_t *others = json_object();

    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        char *text;

        if (!is_stored(options, i))
            continue;
        text = mtlm_options_stored_path_text(options, i);
        json_object_set_new(others, mtlm_option_name(i), json_string(text));
        free(text);
    }
    return others;
}

int mtlm_options_stored_check(struct mtlm_options *options,
                              struct mtlm_error *err)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        char *text = is_stored(options, i)
                         ? mtlm_options_stored_path_text(options, i)
                         : NULL;
        json_t *json = text ? json_string(text) : json_null();
        const bool fits = json != NULL;

        json_decref(json);
        free(text);
        if (!fits)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "the path of --%s is not UTF-8, and --save "
                                  "stores the path in the checkpoint",
                                  mtlm_option_name(i));
        if (is_stored(options, i))
            mtlm_options_stored_path_note(options, i);
    }
    return 0;
}

/* ---- from JSON ---- */

static int set_value(struct mtlm_options *options, enum mtlm_option_id option,
                     const char *text, const char *path, struct mtlm_error *err)
{
    if (mtlm_option_value_set(options, option, text, MTLM_SOURCE_CHECKPOINT,
                              mtlm_option_name(option), err)
        == 0)
        return 0;
    err->code = MTLM_EXIT_INPUT;
    return mtlm_error_prefix(err, "%s", path);
}

int mtlm_options_stored_take_model(struct mtlm_options *options,
                                   const json_t *settings, const char *path,
                                   struct mtlm_error *err)
{
    for (int i = 0; i < OF_MODEL; i++) {
        const char *text =
            mtlm_json_file_text(settings, mtlm_option_name(of_model[i]));

        if (!text && i >= OF_FIRST_MODEL)
            continue; /* saved before the option existed */
        if (!text)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: expected the setting \"%s\", found none",
                                  path, mtlm_option_name(of_model[i]));
        if (set_value(options, of_model[i], text, path, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether a fine-tuning takes an option of the pretraining: the model and its
 * tokenizer. */
static bool is_of_body(enum mtlm_option_id option)
{
    return mtlm_option_table[option].group == MTLM_OPTION_GROUP_MODEL
           || option == MTLM_OPT_TOKENIZER_TYPE || option == MTLM_OPT_VOCAB_FILE
           || option == MTLM_OPT_MERGE_FILE
           || option == MTLM_OPT_TOKENIZER_MODEL;
}

bool mtlm_options_stored_takes(const struct mtlm_options *o,
                               enum mtlm_option_id option)
{
    if (o->pretrained_dir && o->finetune && !is_of_body(option))
        return false;
    if (option == MTLM_OPT_SEED && (o->finetune || o->no_load_rng))
        return false;
    if (o->finetune
        && mtlm_option_table[option].group == MTLM_OPTION_GROUP_PRECISION)
        return false;
    return !mtlm_options_settled(o, option);
}

static int take_settings(struct mtlm_options *options,
                         const enum mtlm_option_id *list, int n,
                         const json_t *settings, const char *path,
                         struct mtlm_error *err)
{
    for (int i = 0; i < n; i++) {
        const char *text =
            mtlm_json_file_text(settings, mtlm_option_name(list[i]));

        if (text && mtlm_options_stored_takes(options, list[i])
            && set_value(options, list[i], text, path, err) < 0)
            return -1;
    }
    return 0;
}

int mtlm_options_stored_take(struct mtlm_options *options,
                             const json_t *settings, const json_t *others,
                             const char *path, struct mtlm_error *err)
{
    const char *name;
    json_t *value;

    if (take_settings(options, of_model, OF_MODEL, settings, path, err) < 0
        || take_settings(options, of_samples, OF_SAMPLES, settings, path, err)
               < 0)
        return -1;
    json_object_foreach((json_t *) others, name, value)
    {
        const int option = mtlm_option_find(name);
        const char *text = json_string_value(value);
        bool moved;

        if (option < 0 || !is_other(option) || !text) {
            mtlm_options_note(options,
                              "%s was saved with --%.60s, which this program "
                              "does not know; the option is left out",
                              path, name);
            continue;
        }
        moved = !mtlm_options_stored_takes(options, option);
        if (moved && !mtlm_options_stored_path_moved(options, option, others))
            continue;
        if (set_value(options, option, text, path, err) < 0)
            return -1;
        if (moved)
            mtlm_options_note(options, "--%s %s of %s stays", name, text, path);
    }
    return 0;
}

/* ---- compared ---- */

/* Whether a and b are equal except for blanks and separators of numbers:
 * "969,30,1", "969, 30, 1", "969/30/1". */
static bool same_value(const char *a, const char *b)
{
    a += strspn(a, " ");
    b += strspn(b, " ");
    for (; *a && (*a == *b || (strchr(",/", *a) && *b && strchr(",/", *b)));
         a += strspn(a, " "), b += strspn(b, " "))
        a++, b++;
    return *a == *b;
}

int mtlm_options_stored_compare_text(const json_t *settings, const char *key,
                                     const char *ours, const char *path,
                                     const char *hint, struct mtlm_error *err)
{
    const char *theirs = mtlm_json_file_text(settings, key);
    const char *dashes = mtlm_option_find(key) < 0 ? "" : "--";

    if (!theirs || same_value(ours, theirs))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s was saved with %s%s %s, this job has %s%s", path,
                          dashes, key, theirs, ours, hint);
}

/* A model that was saved before a model option existed has the option's
 * default. */
static int compare_option(const struct mtlm_options *options,
                          enum mtlm_option_id option, const json_t *settings,
                          const char *path, const char *hint,
                          struct mtlm_error *err)
{
    const char *name = mtlm_option_name(option);
    const bool older = !mtlm_json_file_text(settings, name)
                       && is_among(option, of_model, OF_MODEL);
    char *ours = mtlm_option_value_text(options, option);
    json_t *standard =
        json_pack("{s:s}", name, mtlm_option_table[option].fallback);
    const int rc = mtlm_options_stored_compare_text(
        older ? standard : settings, name, ours, path, hint, err);

    json_decref(standard);
    free(ours);
    return rc;
}

/* The end of a sentence about an option that a preset sets. */
static const char *preset_hint(const struct mtlm_options *options,
                               enum mtlm_option_id option)
{
    return mtlm_options_source(options, option) == MTLM_SOURCE_PRESET
               ? " from --model; without --model it takes the "
                 "checkpoint's"
               : "";
}

int mtlm_options_stored_compare_given(const struct mtlm_options *options,
                                      const json_t *settings, const char *path,
                                      struct mtlm_error *err)
{
    for (int i = 0; i < OF_MODEL; i++)
        if (mtlm_options_given(options, of_model[i])
            && !is_among(of_model[i], resolved, RESOLVED)
            && compare_option(options, of_model[i], settings, path,
                              preset_hint(options, of_model[i]), err)
                   < 0)
            return -1;
    return 0;
}

int mtlm_options_stored_compare(const struct mtlm_options *options,
                                const json_t *settings, const char *path,
                                struct mtlm_error *err)
{
    const char *hint = "; --finetune starts a new training from its weights";
    const char *seed_hint = "; --no-load-rng continues with another seed, "
                            "--finetune starts a new training from its weights";

    for (int i = 0; i < OF_MODEL; i++)
        if (compare_option(options, of_model[i], settings, path,
                           preset_hint(options, of_model[i]), err)
            < 0)
            return -1;
    if (options->finetune || options->eval_only)
        return 0;
    for (int i = 0; i < OF_SAMPLES; i++) {
        const bool seed = of_samples[i] == MTLM_OPT_SEED;

        if (!(seed && options->no_load_rng)
            && compare_option(options, of_samples[i], settings, path,
                              seed ? seed_hint : hint, err)
                   < 0)
            return -1;
    }
    return 0;
}
