/* Settings and counters that a checkpoint stores, and their comparison with a
 * job's. */

#include "config.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/job/job_data.h"
#include "launch/options/option_value.h"
#include "models/weights/foreign_tensors.h"
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
    MTLM_OPT_OPENAI_GELU};

/* Options that decide the samples and their order. */
static const enum mtlm_option_id of_samples[] = {
    MTLM_OPT_SEQ_LENGTH, MTLM_OPT_SEED,           MTLM_OPT_SPLIT,
    MTLM_OPT_MASK_PROB,  MTLM_OPT_SHORT_SEQ_PROB, MTLM_OPT_EOD_MASK_LOSS};

enum {
    OF_FIRST_MODEL = 12, /* of_model[0 .. 11] are in every checkpoint */
    OF_MODEL = sizeof(of_model) / sizeof(of_model[0]),
    OF_SAMPLES = sizeof(of_samples) / sizeof(of_samples[0])
};

/* The option's value, which the caller frees. */
static char *value_of(const struct mtlm_options *options,
                      enum mtlm_option_id option)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    mtlm_option_value_write(options, option, file);
    fclose(file);
    return text;
}

static void set_text(json_t *settings, const char *key, char *value)
{
    json_object_set_new(settings, key, json_string(value));
    free(value);
}

json_t *mtlm_checkpoint_model_settings(const struct mtlm_options *options)
{
    json_t *settings = json_object();

    for (int i = 0; i < OF_MODEL; i++)
        set_text(settings, mtlm_option_name(of_model[i]),
                 value_of(options, of_model[i]));
    return settings;
}

int mtlm_checkpoint_model(const json_t *settings, const char *path,
                          struct mtlm_options *options, struct mtlm_error *err)
{
    struct mtlm_model *model = &options->model;

    for (int i = 0; i < OF_MODEL; i++) {
        const char *text =
            mtlm_json_file_text(settings, mtlm_option_name(of_model[i]));

        if (!text && i >= OF_FIRST_MODEL)
            continue; /* saved before the option existed */
        if (!text)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: expected the setting \"%s\", found none",
                                  path, mtlm_option_name(of_model[i]));
        if (mtlm_option_value_set(options, of_model[i], text,
                                  MTLM_SOURCE_CONFIG,
                                  mtlm_option_name(of_model[i]), err)
            < 0) {
            err->code = MTLM_EXIT_INPUT;
            return mtlm_error_prefix(err, "%s", path);
        }
    }
    model->binary_head =
        model->family == MTLM_BERT && !options->bert_no_binary_head;
    model->num_token_types = model->family == MTLM_BERT ? 2 : 0;
    model->vocab_multiple = 1;
    model->seq_length = model->max_positions;
    return mtlm_foreign_check_model(model, path, err);
}

json_t *mtlm_checkpoint_settings(const struct mtlm_job *job)
{
    json_t *settings = mtlm_checkpoint_model_settings(&job->options);

    for (int i = 0; i < OF_SAMPLES; i++)
        set_text(settings, mtlm_option_name(of_samples[i]),
                 value_of(&job->options, of_samples[i]));
    set_text(settings, "data", mtlm_job_data_describe(job));
    if (job->options.tokenizer)
        set_text(settings, "tokenizer", mtlm_job_data_describe_tokenizer(job));
    return settings;
}

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

/* Refuses a setting that differs.  A setting that the checkpoint lacks, such as
 * a newer option, is not compared. */
static int compare_setting(const json_t *settings, const char *key, char *ours,
                           const char *path, const char *hint,
                           struct mtlm_error *err)
{
    const char *theirs = mtlm_json_file_text(settings, key);
    const bool option =
        strcmp(key, "data") != 0 && strcmp(key, "tokenizer") != 0;
    int rc = 0;

    if (theirs && !same_value(ours, theirs))
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "%s was saved with %s%s %s, this job has %s%s",
                            path, option ? "--" : "", key, theirs, ours, hint);
    free(ours);
    return rc;
}

/* Compares the tokenizers: another one is an error, or a warning if the job
 * finetunes. */
static int check_tokenizer(const struct mtlm_job *job, const json_t *settings,
                           const char *path, struct mtlm_error *err)
{
    if (!job->options.tokenizer
        || compare_setting(settings, "tokenizer",
                           mtlm_job_data_describe_tokenizer(job), path, "", err)
               == 0)
        return 0;
    if (!job->options.finetune)
        return -1;
    if (mtlm_ranks_rank(job->ranks) == 0)
        fprintf(stderr, "mtlm-dag: %s\n", err->text);
    return 0;
}

int mtlm_checkpoint_settings_check(const struct mtlm_job *job,
                                   const json_t *settings, const char *path,
                                   bool continues, struct mtlm_error *err)
{
    const char *hint = "; --finetune starts a new training from its weights";
    const char *seed_hint = "; --no-load-rng continues with another seed, "
                            "--finetune starts a new training from its weights";

    for (int i = 0; i < OF_MODEL; i++)
        if (compare_setting(settings, mtlm_option_name(of_model[i]),
                            value_of(&job->options, of_model[i]), path, "", err)
            < 0)
            return -1;
    if (check_tokenizer(job, settings, path, err) < 0)
        return -1;
    for (int i = 0; i < OF_SAMPLES && continues; i++) {
        const bool seed = of_samples[i] == MTLM_OPT_SEED;

        if (!(seed && job->options.no_load_rng)
            && compare_setting(settings, mtlm_option_name(of_samples[i]),
                               value_of(&job->options, of_samples[i]), path,
                               seed ? seed_hint : hint, err)
                   < 0)
            return -1;
    }
    if (!continues)
        return 0;
    return compare_setting(settings, "data", mtlm_job_data_describe(job), path,
                           hint, err);
}

/* ---- counters ---- */

/* Counters and their bounds: at most 10^9 iterations, 10^17 samples. */
static const struct {
    const char *name;
    enum mtlm_control_slot slot;
    bool scale; /* of a dynamic loss scale */
    double min, max;
} counters[] = {
    {"steps", MTLM_CONTROL_STEP, false, 0, 1e9},
    {"clock_samples", MTLM_CONTROL_CLOCK, false, 0, 1e17},
    {"skipped", MTLM_CONTROL_SKIPPED, false, 0, 1e9},
    {"loss_scale", MTLM_CONTROL_LOSS_SCALE, true, 1, FLT_MAX},
    {"loss_scale_growth", MTLM_CONTROL_GROWTH, true, 0, 1e9},
    {"loss_scale_hysteresis", MTLM_CONTROL_HYSTERESIS, true, -1e9, 1e9},
};
enum { COUNTERS = sizeof(counters) / sizeof(counters[0]) };

json_t *mtlm_checkpoint_state(const struct mtlm_job *job,
                              const double control[MTLM_CONTROL_COUNT])
{
    json_t *state = json_object();

    for (int i = 0; i < COUNTERS; i++)
        if (!counters[i].scale || job->program->config.loss_scale.dynamic)
            json_object_set_new(state, counters[i].name,
                                json_real(control[counters[i].slot]));
    return state;
}

int mtlm_checkpoint_state_check(const json_t *state, const char *path,
                                struct mtlm_error *err)
{
    for (int i = 0; i < COUNTERS; i++) {
        const json_t *value = json_object_get(state, counters[i].name);
        const double number = json_number_value(value);

        if (value
            && (!json_is_number(value) || !(number >= counters[i].min)
                || number > counters[i].max))
            return mtlm_error_set(
                err, MTLM_EXIT_INPUT,
                "%s: state \"%s\": expected a number from %g "
                "to %g, found %s",
                path, counters[i].name, counters[i].min, counters[i].max,
                json_is_number(value) ? "another" : "something else");
    }
    return 0;
}

void mtlm_checkpoint_restore(const struct mtlm_job *job, const json_t *state,
                             double control[MTLM_CONTROL_COUNT])
{
    for (int i = 0; i < COUNTERS; i++) {
        const json_t *value = json_object_get(state, counters[i].name);

        if (json_is_number(value)
            && (!counters[i].scale || job->program->config.loss_scale.dynamic))
            control[counters[i].slot] = json_number_value(value);
    }
}
