/* The training data of a job: data sets, samples, descriptions. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <xxhash.h>

#include "launch/job/job_data.h"
#include "launch/job/job_prompts.h"
#include "launch/options/options_generate.h"
#include "models/text/bert_dataset.h"
#include "models/text/byte_tokenizer.h"
#include "models/text/gpt_dataset.h"
#include "models/text/mock_dataset.h"
#include "models/text/split.h"
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

/* Returns whether tokens are bytes.  The entropy of bytes has a meaning for
 * such tokens only. */
static bool is_bytes(const struct mtlm_options *o)
{
    const struct mtlm_model *model = &o->model;

    if (o->tokenizer)
        return o->tokenizer == &mtlm_tokenizer_byte;
    return model->vocab_size
           == (model->family == MTLM_BERT ? MTLM_BYTE_BERT_VOCAB_SIZE
                                          : MTLM_BYTE_VOCAB_SIZE);
}

/* The token after which labels do not count, or -1. */
static int32_t masked_end(const struct mtlm_options *o)
{
    if (!o->eod_mask_loss)
        return -1;
    return o->tokenizer ? o->tokenizer->eod : (int32_t) o->model.vocab_size - 1;
}

/* The samples of documents bound[0] .. bound[1] - 1. */
static struct mtlm_samples *create_samples(const struct mtlm_job *job,
                                           const int64_t bound[2],
                                           struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_bert_recipe recipe = bert_recipe(o, o->seed);

    return o->model.family == MTLM_BERT
               ? mtlm_bert_dataset_create(job->dataset, bound[0], bound[1],
                                          &recipe, err)
               : mtlm_gpt_dataset_create(job->dataset, bound[0], bound[1],
                                         o->model.seq_length, o->seed,
                                         masked_end(o), err);
}

static int open_documents(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    int64_t bound[MTLM_SPLITS + 1];

    job->dataset =
        mtlm_indexed_dataset_open(o->data_path, o->model.vocab_size, err);
    if (!job->dataset
        && mtlm_options_source(o, MTLM_OPT_DATA_PATH) == MTLM_SOURCE_CHECKPOINT)
        return mtlm_error_prefix(
            err,
            "%s names the data; where they are elsewhere, give --data-path",
            o->options_path);
    if (!job->dataset
        || mtlm_split_parse(o->split,
                            mtlm_indexed_dataset_documents(job->dataset), bound,
                            err)
               < 0)
        return -1;
    if (!o->eval_only) {
        job->train.samples = create_samples(job, &bound[MTLM_TRAIN], err);
        if (!job->train.samples)
            return mtlm_error_prefix(err, "%s: training split", o->data_path);
    }
    if (o->eval_iters == 0)
        return 0;
    job->valid.samples = create_samples(job, &bound[MTLM_VALID], err);
    if (!job->valid.samples)
        return mtlm_error_prefix(
            err, "%s: validation split \"%s\" (--eval-iters 0 for none)",
            o->data_path, o->split);
    /* Too few test documents mean no test. */
    if (bound[MTLM_TEST] < bound[MTLM_TEST + 1])
        job->test = create_samples(job, &bound[MTLM_TEST], NULL);
    if (is_bytes(o) && o->summary_text && mtlm_ranks_rank(job->ranks) == 0) {
        job->entropy = mtlm_entropy_measure(job->dataset, bound[MTLM_VALID],
                                            bound[MTLM_VALID + 1]);
        job->has_entropy = true;
    }
    return 0;
}

int mtlm_job_data_open(struct mtlm_job *job, struct mtlm_error *err)
{
    job->train.source.read = job->valid.source.read = read_source;
    if (mtlm_options_generate_wanted(&job->options))
        return mtlm_job_prompts_open(job, err);
    if (!job->options.mock_data)
        return open_documents(job, err);
    /* The mock text is the same for every seed: three seeds, three splits. */
    job->train.samples = create_mock(&job->options, 2 * job->options.seed);
    job->valid.samples = create_mock(&job->options, 2 * job->options.seed + 1);
    job->test =
        create_mock(&job->options, 2 * job->options.seed + (UINT64_C(1) << 40));
    return 0;
}

/* Hash of at most `most` pieces, spread over the document. */
static uint64_t hash_of_document(const struct mtlm_indexed_dataset *dataset,
                                 int64_t document, int64_t most, uint64_t hash)
{
    enum { PIECE = 1024 };
    const int64_t length =
        mtlm_indexed_dataset_tokens(dataset, document, document + 1);
    const int64_t piece = length < PIECE ? length : PIECE;
    const int64_t all = (length + PIECE - 1) / PIECE;
    const int64_t n = all < most ? all : most;

    for (int64_t i = 0; i < n; i++) {
        int32_t tokens[PIECE];

        mtlm_indexed_dataset_read(dataset, document,
                                  n > 1 ? (length - piece) * i / (n - 1) : 0,
                                  piece, tokens);
        hash = XXH3_64bits_withSeed(tokens, piece * sizeof(*tokens), hash);
    }
    return hash ^ length;
}

/* Returns the hash of all tokens of a small data set.  Of a large data set,
 * hashes some thousand pieces, so the set need not be read completely. */
static uint64_t hash_of_data(const struct mtlm_indexed_dataset *dataset)
{
    enum { DOCUMENTS = 1024, PIECES = 4096, LEAST = 3 };
    const int64_t n = mtlm_indexed_dataset_documents(dataset);
    const int64_t step = (n + DOCUMENTS - 1) / DOCUMENTS;
    const int64_t share = PIECES / (n / step),
                  most = share > LEAST ? share : LEAST;
    uint64_t hash = 0;

    for (int64_t d = 0; d < n; d += step)
        hash = hash_of_document(dataset, d, most, hash);
    return hash;
}

char *mtlm_job_data_describe_tokenizer(const struct mtlm_job *job)
{
    const struct mtlm_tokenizer *t = job->options.tokenizer;

    return t ? mtlm_sprintf("%s, %" PRId64 " tokens, hash %016" PRIx64, t->name,
                            t->vocab_size, t->hash)
             : NULL;
}

char *mtlm_job_data_describe(const struct mtlm_job *job)
{
    const struct mtlm_indexed_dataset *data = job->dataset;
    int64_t n;

    if (job->prompts)
        return mtlm_sprintf("%" PRId64
                            " sequences of prompts, hash %016" PRIx64,
                            job->prompts->sequences, job->prompts->hash);
    if (!data)
        return mtlm_strdup("mock data");
    n = mtlm_indexed_dataset_documents(data);
    return mtlm_sprintf("%" PRId64 " documents, %" PRId64 " sequences, %" PRId64
                        " tokens, hash %016" PRIx64,
                        n, mtlm_indexed_dataset_sequence(data, n),
                        mtlm_indexed_dataset_tokens(data, 0, n),
                        hash_of_data(data));
}
