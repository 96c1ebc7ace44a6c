/* Settings and counters that a checkpoint stores, and their comparison with a
 * job's. */

#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/job/job_data.h"
#include "launch/options/option_table.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_stored.h"
#include "models/weights/foreign_tensors.h"
#include "runtime/file/json_file.h"

int mtlm_checkpoint_model(const struct mtlm_manifest *manifest,
                          const char *path, struct mtlm_options *options,
                          struct mtlm_error *err)
{
    const char *task = json_string_value(
        json_object_get(manifest->options, mtlm_option_name(MTLM_OPT_TASK)));
    struct mtlm_model *model = &options->model;

    if (mtlm_options_stored_take_model(options, manifest->settings, path, err)
        < 0)
        return -1;
    model->binary_head =
        model->family == MTLM_BERT && !options->bert_no_binary_head;
    model->num_token_types = model->family == MTLM_BERT ? 2 : 0;
    model->vocab_multiple = 1;
    model->seq_length = model->max_positions;
    options->task = task ? mtlm_task_find(task) : NULL;
    if (options->task)
        mtlm_options_finetune_set_head(model, options->task);
    return mtlm_foreign_check_model(model, path, err);
}

static void set_text(json_t *settings, const char *key, char *value)
{
    json_object_set_new(settings, key, json_string(value));
    free(value);
}

json_t *mtlm_checkpoint_settings(const struct mtlm_job *job)
{
    json_t *settings = mtlm_options_stored_settings(&job->options);

    set_text(settings, "data", mtlm_job_data_describe(job));
    if (job->options.tokenizer)
        set_text(settings, "tokenizer",
                 mtlm_tokenizer_describe(job->options.tokenizer));
    else /* the documents of a tokenizer teach its own end */
        mtlm_ends_store(&job->options.ends, settings);
    return settings;
}

/* Compares the tokenizers: another one is an error, or a warning if the job
 * finetunes. */
static int check_tokenizer(const struct mtlm_job *job, const json_t *settings,
                           const char *path, struct mtlm_error *err)
{
    char *ours;
    int rc;

    if (!job->options.tokenizer)
        return 0;
    ours = mtlm_tokenizer_describe(job->options.tokenizer);
    rc = mtlm_options_stored_compare_text(settings, "tokenizer", ours, path, "",
                                          err);
    free(ours);
    if (rc == 0)
        return 0;
    if (!job->options.finetune)
        return -1;
    if (mtlm_ranks_rank(job->ranks) == 0)
        mtlm_warn("%s", err->text);
    return 0;
}

/* Whether the line about data says that tokens are split. */
static bool is_cut(const char *data)
{
    return strstr(data, MTLM_JOB_DATA_CUT) != NULL;
}

/* Says what to do about other data.  The same text has two hashes if only one
 * of the runs keeps a part of the text to validate. */
static const char *data_hint(const json_t *settings, const char *ours)
{
    const char *theirs = json_string_value(json_object_get(settings, "data"));

    if (theirs && is_cut(theirs) && !is_cut(ours))
        return ": the saved run kept the end of its text to validate, and this "
               "job trains on all of its text; give the --eval-iters and "
               "--split of the saved run, or --finetune for a new training "
               "from "
               "its weights";
    if (theirs && !is_cut(theirs) && is_cut(ours))
        return ": the saved run trained on all of its text, and this job keeps "
               "the end of its text to validate; give --eval-iters 0, or "
               "--finetune for a new training from its weights";
    return "; --finetune starts a new training from its weights";
}

static int check_data(const struct mtlm_job *job, const json_t *settings,
                      const char *path, struct mtlm_error *err)
{
    char *ours = mtlm_job_data_describe(job);
    const int rc = mtlm_options_stored_compare_text(
        settings, "data", ours, path, data_hint(settings, ours), err);

    free(ours);
    return rc;
}

/* Says that the job may evaluate text of the training: the saved run kept no
 * part of the same data to validate. */
static void note_trained(const struct mtlm_job *job, const json_t *settings,
                         const char *path)
{
    const char *theirs = json_string_value(json_object_get(settings, "data"));

    if (theirs && mtlm_ranks_rank(job->ranks) == 0
        && mtlm_job_data_was_whole(job, theirs))
        mtlm_warn("%s: the saved run kept no part of this text to "
                  "validate, so it may have trained on what is evaluated",
                  path);
}

int mtlm_checkpoint_settings_check(const struct mtlm_job *job,
                                   const json_t *settings, const char *path,
                                   struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;

    if (mtlm_options_stored_compare(o, settings, path, err) < 0
        || check_tokenizer(job, settings, path, err) < 0)
        return -1;
    if (o->eval_only)
        note_trained(job, settings, path);
    return o->finetune || o->eval_only ? 0
                                       : check_data(job, settings, path, err);
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

double mtlm_checkpoint_batch_change(const struct mtlm_job *job)
{
    const json_t *then = job->loaded.options;
    const char *batch =
        mtlm_json_file_text(then, mtlm_option_name(MTLM_OPT_GLOBAL_BATCH_SIZE));
    const double samples = batch ? atof(batch) : 0;

    if (samples <= 0
        || mtlm_json_file_text(then, mtlm_option_name(MTLM_OPT_TRAIN_SAMPLES))
        || mtlm_options_given(&job->options, MTLM_OPT_TRAIN_SAMPLES))
        return 1;
    return (double) job->options.global_batch_size / samples;
}

void mtlm_checkpoint_restore(const struct mtlm_job *job, const json_t *state,
                             double control[MTLM_CONTROL_COUNT])
{
    const struct mtlm_loss_scale *scale = &job->program->config.loss_scale;

    for (int i = 0; i < COUNTERS; i++) {
        const json_t *value = json_object_get(state, counters[i].name);

        if (json_is_number(value) && (!counters[i].scale || scale->dynamic))
            control[counters[i].slot] = json_number_value(value);
    }
    /* The job may have another --min-loss-scale than the saved one. */
    if (scale->dynamic)
        control[MTLM_CONTROL_LOSS_SCALE] =
            fmax(control[MTLM_CONTROL_LOSS_SCALE], scale->min);
    control[MTLM_CONTROL_CLOCK] *= mtlm_checkpoint_batch_change(job);
}
