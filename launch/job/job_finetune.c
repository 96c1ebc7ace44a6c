/* The data of a fine-tuning: files of a task become batches of epochs, and
 * samples to evaluate on. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/job/job_finetune.h"
#include "launch/options/options_epochs.h"
#include "models/text/blend_list.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

/* ---- samples ---- */

static void read_batches(struct mtlm_samples *samples, int64_t sample,
                         enum mtlm_field field, int64_t first, int64_t n,
                         int32_t *values)
{
    const struct mtlm_job_finetune *f =
        (const struct mtlm_job_finetune *) samples;
    const int64_t epoch = sample / f->epoch_samples;
    const int64_t place = sample % f->epoch_samples % samples->epoch;

    mtlm_samples_read(&f->train->samples, epoch * samples->epoch + place, field,
                      first, n, values);
}

/* The samples of all files, in the order of the files. */
static void read_all(struct mtlm_samples *samples, int64_t sample,
                     enum mtlm_field field, int64_t first, int64_t n,
                     int32_t *values)
{
    const struct mtlm_job_finetune *f =
        (const struct mtlm_job_finetune *) ((const char *) samples
                                            - offsetof(struct mtlm_job_finetune,
                                                       all));
    const int64_t i = sample % f->samples;
    int d = f->devs - 1;

    while (f->dev[d].first > i)
        d--;
    mtlm_samples_read(&f->dev[d].data->samples, i - f->dev[d].first, field,
                      first, n, values);
}

/* ---- files ---- */

/* Refuses data without answers where there is nothing to do with them, and
 * among data with answers. */
static int check_labelled(const struct mtlm_job *job, bool training,
                          const struct mtlm_task_data *data, const char *path,
                          struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_job_finetune *f = job->finetune;

    if (!training && f->devs > 0 && f->dev[0].data->labelled != data->labelled)
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT, "%s: the data have %s, unlike those of %s",
            path, data->labelled ? "answers" : "no answers", f->dev[0].path);
    if (data->labelled || (!training && o->eval_only && o->predictions))
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        training ? "%s: the data have no answers to learn from"
                 : "%s: the data have no answers, so there is no score; "
                   "--eval-only --predictions FILE writes those of the model",
        path);
}

static struct mtlm_task_data *open_data(struct mtlm_job *job, bool training,
                                        char *const *path, int paths,
                                        struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_task_recipe recipe = {.tokenizer = o->tokenizer,
                                            .seq_length = o->model.seq_length,
                                            .training = training,
                                            .seed = o->seed};
    struct mtlm_task_data *data =
        o->task->open((const char *const *) path, paths, &recipe, err);

    if (data && check_labelled(job, training, data, path[0], err) < 0) {
        mtlm_samples_destroy(&data->samples);
        return NULL;
    }
    return data;
}

static int open_train(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_job_finetune *f = job->finetune;
    struct mtlm_blend_list list;

    if (job->options.eval_only)
        return 0;
    if (mtlm_blend_list_parse(job->options.train_data, "--train-data", &list,
                              err)
        < 0)
        return -1;
    f->train = open_data(job, true, list.prefix, list.n, err);
    mtlm_blend_list_free(&list);
    if (!f->train)
        return mtlm_error_prefix(err, "--train-data");
    f->batches =
        (struct mtlm_samples){.seq_length = job->options.model.seq_length,
                              .epoch = f->train->samples.epoch,
                              .read = read_batches};
    job->train.samples = &f->batches;
    return 0;
}

static int add_dev(struct mtlm_job *job, char *const *path, int paths,
                   struct mtlm_error *err)
{
    struct mtlm_job_finetune *f = job->finetune;
    struct mtlm_job_dev *dev;
    struct mtlm_task_data *data = open_data(job, false, path, paths, err);

    if (!data)
        return mtlm_error_prefix(err, "--valid-data");
    f->dev = mtlm_realloc(f->dev, f->devs + 1, sizeof(*f->dev));
    dev = &f->dev[f->devs++];
    *dev = (struct mtlm_job_dev){
        .path = mtlm_strdup(path[0]), .data = data, .first = f->samples};
    for (int i = 1; i < paths; i++)
        dev->path = mtlm_join(dev->path, " ", path[i]);
    f->samples += data->samples.epoch;
    return 0;
}

static int open_devs(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    struct mtlm_job_finetune *f = job->finetune;
    struct mtlm_blend_list list;
    int rc = 0;

    if (mtlm_blend_list_parse(o->valid_data, "--valid-data", &list, err) < 0)
        return -1;
    if (o->predictions && o->task->apart && list.n > 1)
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "--predictions writes the answers to one file of "
                            "--valid-data, found %d",
                            list.n);
    for (int i = 0; i < list.n && rc == 0; i += o->task->together ? list.n : 1)
        rc = add_dev(job, list.prefix + i, o->task->together ? list.n : 1, err);
    mtlm_blend_list_free(&list);
    f->all = (struct mtlm_samples){.seq_length = o->model.seq_length,
                                   .epoch = f->samples,
                                   .read = read_all};
    job->valid.samples = &f->all;
    return rc;
}

int64_t mtlm_job_finetune_iterations(const struct mtlm_job *job, int64_t batch,
                                     bool keep_last)
{
    const struct mtlm_job_finetune *f = job->finetune;
    const int64_t more = keep_last ? batch - 1 : 0;

    return f->train && batch > 0 ? (f->batches.epoch + more) / batch : 0;
}

/* Sets the batches of an epoch.  Returns the iterations. */
static int64_t count_epoch(struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    struct mtlm_job_finetune *f = job->finetune;
    const int64_t iterations = mtlm_job_finetune_iterations(
        job, o->global_batch_size, o->keep_last_batch);

    f->epoch_samples = iterations * o->global_batch_size;
    return iterations;
}

int mtlm_job_finetune_open(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;
    const int64_t batch = o->global_batch_size;
    int64_t iterations;

    job->finetune = mtlm_calloc(1, sizeof(*job->finetune));
    if (open_train(job, err) < 0 || open_devs(job, err) < 0)
        return -1;
    iterations = count_epoch(job);
    if (iterations == 0 && !o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--train-data has %" PRId64
                              " samples, less than --global-batch-size %" PRId64
                              "; --keep-last-batch fills up the batch",
                              job->finetune->batches.epoch, batch);
    if (mtlm_options_epochs_set(
            o, iterations, (job->finetune->samples + batch - 1) / batch, err)
        < 0)
        return -1;
    job->wish.eval_iters = o->eval_iters;
    job->wish.config.lr_schedule = o->lr_schedule;
    return 0;
}

void mtlm_job_finetune_close(struct mtlm_job *job)
{
    struct mtlm_job_finetune *f = job->finetune;

    if (!f)
        return;
    if (f->train)
        mtlm_samples_destroy(&f->train->samples);
    for (int i = 0; i < f->devs; i++) {
        mtlm_samples_destroy(&f->dev[i].data->samples);
        free(f->dev[i].path);
    }
    free(f->dev);
    free(f);
    job->finetune = NULL;
}

/* ---- words ---- */

/* Rows of the files to evaluate on that are no samples. */
static int64_t count_left_out(const struct mtlm_job_finetune *f)
{
    int64_t rows = 0;

    for (int i = 0; i < f->devs; i++)
        rows += f->dev[i].data->left_out;
    return rows;
}

void mtlm_job_finetune_print(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_job_finetune *f = job->finetune;
    const int64_t left_out = count_left_out(f);

    printf("task: %s", o->task->name);
    if (f->train)
        printf(", %" PRId64 " sample%s to train on, %" PRId64
               " iteration%s of an epoch, %" PRId64 " epoch%s",
               f->batches.epoch, mtlm_plural(f->batches.epoch),
               o->eval_interval, mtlm_plural(o->eval_interval), o->epochs,
               mtlm_plural(o->epochs));
    if (f->train && f->train->left_out > 0)
        printf(", %" PRId64 " left out", f->train->left_out);
    printf("; %" PRId64 " sample%s to %s", f->samples, mtlm_plural(f->samples),
           mtlm_job_finetune_labelled(job) ? "evaluate on" : "answer");
    if (left_out > 0)
        printf(", %" PRId64 " left out", left_out);
    printf("\n");
}

char *mtlm_job_finetune_describe(const struct mtlm_job *job)
{
    const struct mtlm_job_finetune *f = job->finetune;
    const struct mtlm_task_data *data = f->train ? f->train : f->dev[0].data;

    return mtlm_sprintf("%" PRId64 " samples of %s, hash %016" PRIx64,
                        data->samples.epoch, job->options.task->name,
                        data->hash);
}

/* ---- scores ---- */

bool mtlm_job_finetune_labelled(const struct mtlm_job *job)
{
    return job->finetune->dev[0].data->labelled;
}

uint64_t mtlm_job_finetune_valid_hash(const struct mtlm_job *job)
{
    uint64_t hash = 0;

    for (int i = 0; i < job->finetune->devs; i++)
        hash = 31 * hash + job->finetune->dev[i].data->hash;
    return hash;
}

int mtlm_job_finetune_scores(const struct mtlm_job *job)
{
    const int devs = job->finetune->devs;

    return job->options.task->together ? 2 : devs + (devs > 1);
}

const char *mtlm_job_finetune_score_unit(const struct mtlm_job *job)
{
    return job->options.task->together ? "" : " %";
}

char *mtlm_job_finetune_score_name(const struct mtlm_job *job, int i)
{
    const struct mtlm_job_finetune *f = job->finetune;

    if (job->options.task->together)
        return mtlm_strdup(i == 0 ? "exact match" : "F1");
    return mtlm_sprintf("%s: accuracy", i < f->devs ? f->dev[i].path : "all");
}

char *mtlm_job_finetune_score_text(const struct mtlm_job *job, int i,
                                   double value)
{
    char *name = mtlm_job_finetune_score_name(job, i);
    char *text = mtlm_sprintf("%s %.2f%s", name, value,
                              mtlm_job_finetune_score_unit(job));

    free(name);
    return text;
}
