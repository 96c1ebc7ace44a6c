/* The data that the job learns from: opens the data sets of all splits, and
 * makes samples of them. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/job/job_data.h"
#include "launch/job/job_finetune.h"
#include "launch/job/job_prompts.h"
#include "launch/job/job_task.h"
#include "launch/options/option_table.h"
#include "launch/options/options_data.h"
#include "launch/options/options_generate.h"
#include "launch/options/options_tokenizer.h"
#include "models/text/bert_dataset.h"
#include "models/text/blend.h"
#include "models/text/blend_list.h"
#include "models/text/byte_tokenizer.h"
#include "models/text/gpt_dataset.h"
#include "models/text/mock_dataset.h"
#include "runtime/base/memory.h"

static void read_source(struct mtlm_samples *source, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const struct mtlm_job_source *s = (const struct mtlm_job_source *) source;

    mtlm_samples_read(s->samples, sample, field, first, n, values);
}

static struct mtlm_bert_recipe bert_recipe(const struct mtlm_options *o,
                                           uint64_t seed)
{
    return (struct mtlm_bert_recipe){
        .vocab = o->tokenizer ? o->tokenizer->bert : &mtlm_bert_vocab_byte,
        .seq_length = o->model.seq_length,
        .mask_prob = o->mask_prob,
        .short_seq_prob = o->short_seq_prob,
        .binary_head = o->model.binary_head,
        .seed = seed};
}

static struct mtlm_samples *create_mock(const struct mtlm_options *o,
                                        uint64_t seed)
{
    const struct mtlm_bert_recipe recipe = bert_recipe(o, seed);

    return o->model.family == MTLM_BERT
               ? mtlm_mock_dataset_create_bert(o->model.vocab_size, &recipe)
               : mtlm_mock_dataset_create(o->model.vocab_size,
                                          o->model.seq_length, seed);
}

/* Whether tokens are bytes: only then the entropy of bytes has a meaning. */
static bool is_bytes(const struct mtlm_options *o)
{
    const struct mtlm_model *model = &o->model;

    if (o->tokenizer)
        return o->tokenizer == &mtlm_tokenizer_byte;
    return model->vocab_size
           == (model->family == MTLM_BERT ? MTLM_BYTE_BERT_VOCAB_SIZE
                                          : MTLM_BYTE_VOCAB_SIZE);
}

/* Refuses --eod-mask-loss where nobody knows the token: of a preset's 51200
 * tokens the last is no end of a document. */
static int check_end(const struct mtlm_options *o, struct mtlm_error *err)
{
    enum { GPT2_VOCAB_SIZE = 50257 };

    if (!o->eod_mask_loss || o->tokenizer || is_bytes(o)
        || o->model.vocab_size == GPT2_VOCAB_SIZE)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--eod-mask-loss: which of the %d tokens ends a "
                          "document? --tokenizer-type says it, or --vocab-size "
                          "%d for the last of GPT-2's",
                          (int) o->model.vocab_size, GPT2_VOCAB_SIZE);
}

/* The token after which labels do not count, or -1. */
static int32_t masked_end(const struct mtlm_options *o)
{
    if (!o->eod_mask_loss)
        return -1;
    return o->tokenizer ? o->tokenizer->eod : (int32_t) o->model.vocab_size - 1;
}

/* ---- data sets ---- */

static int64_t split_tokens(const struct mtlm_job_dataset *d,
                            enum mtlm_split split)
{
    return mtlm_indexed_dataset_tokens(d->dataset, d->bound[split],
                                       d->bound[split + 1]);
}

/* Divides the documents of a data set among the splits: by --split, or, where a
 * needed split would be empty, by the positions of tokens.  An evaluation
 * divides as the training did: it reads no text that was trained on. */
static int divide(const struct mtlm_options *o, struct mtlm_job_dataset *d,
                  struct mtlm_error *err)
{
    const bool trains =
        !o->eval_only || mtlm_split_shares(o->split, MTLM_TRAIN);

    if (mtlm_split_parse(o->split, mtlm_indexed_dataset_documents(d->dataset),
                         d->bound, err)
        < 0)
        return -1;
    if ((!trains || split_tokens(d, MTLM_TRAIN) > 0)
        && (o->eval_iters == 0 || split_tokens(d, MTLM_VALID) > 0))
        return 0;
    mtlm_split_cut(o->split, d->dataset, o->model.family == MTLM_BERT,
                   d->bound);
    d->cut = true;
    return 0;
}

/* Gives all documents to one split. */
static void give_all(struct mtlm_job_dataset *d, enum mtlm_split split)
{
    for (int i = 0; i <= MTLM_SPLITS; i++)
        d->bound[i] =
            i > (int) split ? mtlm_indexed_dataset_documents(d->dataset) : 0;
}

/* Opens a data set; split -1: of all splits.  Refuses tokens that the tokenizer
 * lacks: the model's vocabulary may have room for them. */
static int open_dataset(struct mtlm_job *job, const char *prefix, double weight,
                        int split, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    char *found =
        mtlm_indexed_dataset_find(prefix, o->model.family == MTLM_BERT);
    struct mtlm_job_dataset *d;

    job->data = mtlm_realloc(job->data, job->datasets + 1, sizeof(*job->data));
    d = &job->data[job->datasets];
    *d = (struct mtlm_job_dataset){
        .dataset = mtlm_indexed_dataset_open(
            found ? found : prefix, mtlm_options_tokenizer_size(o), err),
        .weight = weight};
    free(found);
    if (!d->dataset)
        return -1;
    job->datasets++;
    d->documents = mtlm_indexed_dataset_documents(d->dataset);
    for (int i = 0; i < MTLM_SPLITS; i++)
        d->serves[i] = split < 0 || i == split;
    if (split < 0)
        return divide(o, d, err);
    give_all(d, split);
    return 0;
}

/* Opens the data sets of an option's list, if there is one; split -1: of all
 * splits. */
static int open_list(struct mtlm_job *job, enum mtlm_option_id option,
                     int split, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const char *text = *(char *const *) mtlm_option_value(o, option);
    struct mtlm_blend_list list;
    int rc;

    if (!text)
        return 0;
    rc = mtlm_blend_list_parse(text, mtlm_option_name(option), &list, err);
    if (rc < 0)
        return -1;
    for (int i = 0; i < list.n && rc == 0; i++)
        rc = open_dataset(job, list.prefix[i], list.weight ? list.weight[i] : 0,
                          split, err);
    mtlm_blend_list_free(&list);
    if (rc < 0 && mtlm_options_source(o, option) == MTLM_SOURCE_CHECKPOINT)
        return mtlm_error_prefix(err,
                                 "%s names the data; where they are elsewhere, "
                                 "give --%s",
                                 o->options_path, mtlm_option_name(option));
    return rc;
}

static int open_datasets(struct mtlm_job *job, struct mtlm_error *err)
{
    int rc = open_list(job, MTLM_OPT_DATA_PATH, -1, err);

    for (int i = 0; i < MTLM_SPLITS && rc == 0; i++)
        if (!(i == MTLM_TRAIN && job->options.eval_only))
            rc = open_list(job, mtlm_options_data_option(i), i, err);
    return rc;
}

/* ---- samples ---- */

/* The samples of documents bound[0] .. bound[1] - 1. */
static struct mtlm_samples *create_source(
    const struct mtlm_options *o, const struct mtlm_indexed_dataset *dataset,
    const int64_t bound[2], struct mtlm_error *err)
{
    const struct mtlm_bert_recipe recipe = bert_recipe(o, o->seed);

    return o->model.family == MTLM_BERT
               ? mtlm_bert_dataset_create(dataset, bound[0], bound[1], &recipe,
                                          err)
               : mtlm_gpt_dataset_create(dataset, bound[0], bound[1],
                                         o->model.seq_length, o->seed,
                                         masked_end(o), err);
}

/* Whether a data set may have too little text for a split: a small test share
 * of --split is empty for a small data set. */
static bool may_lack(const struct mtlm_job_dataset *d, enum mtlm_split split)
{
    return split == MTLM_TEST && d->serves[MTLM_VALID];
}

static void count_too_long(struct mtlm_job_dataset *d,
                           const struct mtlm_samples *samples)
{
    const struct mtlm_bert_too_long of = mtlm_bert_dataset_too_long(samples);

    d->too_long.sentences += of.sentences;
    d->too_long.tokens += of.tokens;
}

/* Makes the samples of a split of all data sets that serve the split; NULL:
 * none has text for the split.  -1: a data set has too little text. */
static int create_samples(struct mtlm_job *job, enum mtlm_split split,
                          struct mtlm_samples **samples, struct mtlm_error *err)
{
    struct mtlm_samples **source =
        mtlm_calloc(job->datasets, sizeof(struct mtlm_samples *));
    double *weight = mtlm_calloc(job->datasets, sizeof(*weight));
    int n = 0, rc = 0;

    for (int i = 0; i < job->datasets && rc == 0; i++) {
        struct mtlm_job_dataset *d = &job->data[i];

        if (!d->serves[split])
            continue;
        source[n] = create_source(&job->options, d->dataset, &d->bound[split],
                                  may_lack(d, split) ? NULL : err);
        if (source[n] && job->options.model.family == MTLM_BERT)
            count_too_long(d, source[n]);
        if (source[n])
            d->share[split] = weight[n] =
                d->weight > 0 ? d->weight : (double) source[n]->epoch;
        rc = source[n] || may_lack(d, split) ? 0 : -1;
        n += source[n] != NULL;
    }
    *samples = NULL;
    if (rc == 0 && n > 0)
        *samples = n == 1 ? source[0] : mtlm_blend_create(source, weight, n);
    for (int i = 0; i < n && rc < 0; i++)
        mtlm_samples_destroy(source[i]);
    free(weight);
    free(source);
    return rc;
}

/* Measures the entropy of the validation text, if one data set has it. */
static void measure_entropy(struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_job_dataset *only = NULL;

    for (int i = 0; i < job->datasets; i++)
        if (job->data[i].serves[MTLM_VALID]) {
            if (only)
                return;
            only = &job->data[i];
        }
    if (!only || !is_bytes(o) || !o->summary_text
        || mtlm_ranks_rank(job->ranks) != 0)
        return;
    job->entropy = mtlm_entropy_measure(only->dataset, only->bound[MTLM_VALID],
                                        only->bound[MTLM_VALID + 1]);
    job->has_entropy = true;
}

static int open_documents(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const char *advice = o->eval_only ? "" : " (--eval-iters 0 for none)";

    if (check_end(o, err) < 0 || open_datasets(job, err) < 0)
        return -1;
    if (!o->eval_only
        && create_samples(job, MTLM_TRAIN, &job->train.samples, err) < 0)
        return mtlm_error_prefix(err, "training split");
    if (o->eval_iters == 0)
        return 0;
    if (create_samples(job, MTLM_VALID, &job->valid.samples, err) < 0)
        return o->data_path
                   ? mtlm_error_prefix(err, "validation split \"%s\"%s",
                                       o->split, advice)
                   : mtlm_error_prefix(err, "validation data%s", advice);
    if (create_samples(job, MTLM_TEST, &job->test, err) < 0)
        return mtlm_error_prefix(err, "test data%s", advice);
    measure_entropy(job);
    return 0;
}

int mtlm_job_data_open(struct mtlm_job *job, struct mtlm_error *err)
{
    job->train.source.read = job->valid.source.read = read_source;
    if (mtlm_options_generate_wanted(&job->options))
        return mtlm_job_prompts_open(job, err);
    if (job->options.task)
        return mtlm_job_task_open(job, err);
    if (!job->options.mock_data)
        return open_documents(job, err);
    /* The mock text is the same for every seed: three seeds, three splits. */
    job->train.samples = create_mock(&job->options, 2 * job->options.seed);
    job->valid.samples = create_mock(&job->options, 2 * job->options.seed + 1);
    job->test =
        create_mock(&job->options, 2 * job->options.seed + (UINT64_C(1) << 40));
    return 0;
}

void mtlm_job_data_close(struct mtlm_job *job)
{
    mtlm_samples_destroy(job->test);
    if (!job->prompts && !job->finetune)
        mtlm_samples_destroy(job->valid.samples);
    mtlm_prompts_destroy(job->prompts);
    if (!job->finetune)
        mtlm_samples_destroy(job->train.samples);
    mtlm_job_finetune_close(job);
    for (int i = 0; i < job->datasets; i++)
        mtlm_indexed_dataset_close(job->data[i].dataset);
    free(job->data);
}
