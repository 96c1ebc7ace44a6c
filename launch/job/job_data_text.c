/* The data of the job in words: for a checkpoint, and for the user. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "launch/job/job_data.h"
#include "launch/job/job_finetune.h"
#include "launch/job/job_task.h"
#include "models/text/blend.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

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

static char *describe_one(const struct mtlm_job_dataset *d)
{
    const int64_t n = mtlm_indexed_dataset_documents(d->dataset);

    return mtlm_sprintf("%" PRId64 " documents, %" PRId64 " sequences, %" PRId64
                        " tokens, hash %016" PRIx64 "%s",
                        n, mtlm_indexed_dataset_sequence(d->dataset, n),
                        mtlm_indexed_dataset_tokens(d->dataset, 0, n),
                        hash_of_data(d->dataset),
                        d->cut ? MTLM_JOB_DATA_CUT : "");
}

bool mtlm_job_data_was_whole(const struct mtlm_job *job, const char *described)
{
    const struct mtlm_job_dataset *d = job->data;
    int64_t tokens;

    /* The hash is another one: the cut makes other documents. */
    return job->datasets == 1 && d->cut && !strstr(described, MTLM_JOB_DATA_CUT)
           && sscanf(described,
                     "%*d documents, %*d sequences, %" SCNd64 " tokens",
                     &tokens)
                  == 1
           && tokens
                  == mtlm_indexed_dataset_tokens(
                      d->dataset, 0,
                      mtlm_indexed_dataset_documents(d->dataset));
}

/* Describes a blend: the hash depends on data sets, weights and splits. */
static char *describe_blend(const struct mtlm_job *job)
{
    int64_t documents = 0, tokens = 0;
    uint64_t hash = 0;

    for (int i = 0; i < job->datasets; i++) {
        const struct mtlm_job_dataset *d = &job->data[i];
        const int64_t n = mtlm_indexed_dataset_documents(d->dataset);
        char *one = describe_one(d);

        documents += n;
        tokens += mtlm_indexed_dataset_tokens(d->dataset, 0, n);
        hash = XXH3_64bits_withSeed(one, strlen(one), hash);
        hash = XXH3_64bits_withSeed(&d->weight, sizeof(d->weight), hash);
        for (int s = 0; s < MTLM_SPLITS; s++)
            hash = hash * 2 + d->serves[s];
        free(one);
    }
    return mtlm_sprintf("%d data sets, %" PRId64 " documents, %" PRId64
                        " tokens, hash %016" PRIx64,
                        job->datasets, documents, tokens, hash);
}

char *mtlm_job_data_describe(const struct mtlm_job *job)
{
    if (job->prompts)
        return mtlm_sprintf("%" PRId64
                            " sequences of prompts, hash %016" PRIx64,
                            job->prompts->sequences, job->prompts->hash);
    if (job->scored)
        return mtlm_job_task_describe(job);
    if (job->finetune)
        return mtlm_job_finetune_describe(job);
    if (job->datasets == 0)
        return mtlm_strdup("mock data");
    return job->datasets == 1 && job->data[0].serves[MTLM_TRAIN]
                   && job->data[0].serves[MTLM_VALID]
               ? describe_one(&job->data[0])
               : describe_blend(job);
}

/* Prints how a data set with too few documents is divided. */
static void print_cut(const struct mtlm_job *job,
                      const struct mtlm_job_dataset *d)
{
    static const char *const what[MTLM_SPLITS] = {"to train", "to validate",
                                                  "to test"};

    if (!d->cut)
        return;
    printf("    too few documents for --split %s, so tokens are split:",
           job->options.split);
    for (int s = 0; s < MTLM_SPLITS; s++)
        printf("%s %" PRId64 " %s", s ? "," : "",
               mtlm_indexed_dataset_tokens(d->dataset, d->bound[s],
                                           d->bound[s + 1]),
               what[s]);
    printf("\n");
}

/* Prints how many sentences a BERT leaves out. */
static void print_too_long(const struct mtlm_job_dataset *d)
{
    const struct mtlm_bert_too_long *out = &d->too_long;

    if (out->sentences > 0)
        printf("    left out: %" PRId64 " sentence%s of more than %d tokens, "
               "%" PRId64 " tokens of %" PRId64 "\n",
               out->sentences, mtlm_plural(out->sentences), MTLM_BERT_LONGEST,
               out->tokens,
               mtlm_indexed_dataset_tokens(
                   d->dataset, 0, mtlm_indexed_dataset_documents(d->dataset)));
}

/* Prints that a data set has too little text for the test share of --split. */
static void print_no_test(const struct mtlm_job *job,
                          const struct mtlm_job_dataset *d)
{
    const struct mtlm_options *o = &job->options;

    if (o->eval_iters == 0 || !d->serves[MTLM_VALID] || !d->serves[MTLM_TEST]
        || d->share[MTLM_TEST] > 0 || !mtlm_split_shares(o->split, MTLM_TEST))
        return;
    printf("    too little text to test by --split %s\n", o->split);
}

/* Steps of a count within a second: each sample takes one for each data set.
 * Where a count takes more, each data set gives its share, to a few samples. */
enum { MOST_STEPS = 1 << 24 };

/* Counts the samples of each data set among the first `samples` of a split;
 * count [datasets].  Returns whether the counts are exact. */
static bool count_samples(const struct mtlm_job *job, enum mtlm_split split,
                          int64_t samples, int64_t *count)
{
    double *share = mtlm_calloc(job->datasets, sizeof(*share)), sum = 0;
    int64_t *packed = mtlm_calloc(job->datasets, sizeof(*packed));
    bool exact;
    int n = 0;

    for (int i = 0; i < job->datasets; i++)
        if (job->data[i].serves[split])
            sum += share[n++] = job->data[i].share[split];
    exact = n == 0 || samples <= MOST_STEPS / n;
    if (n > 0 && exact)
        mtlm_blend_count(share, n, samples, packed);
    for (int i = 0; i < n && !exact; i++)
        packed[i] = llrint(share[i] / sum * (double) samples);
    n = 0;
    for (int i = 0; i < job->datasets; i++)
        count[i] = job->data[i].serves[split] ? packed[n++] : 0;
    free(packed);
    free(share);
    return exact;
}

/* Prints "5253 of 7504 training samples; ", if there are any. */
static void print_share(const char *what, bool serves, bool exact,
                        int64_t count, int64_t all)
{
    if (serves && all > 0)
        printf(" %s%" PRId64 " of %" PRId64 " %s samples;",
               exact ? "" : "about ", count, all, what);
}

/* Prints a line for each data set of a blend, with the samples that it gives.
 */
static void print_blend(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const int64_t train = o->eval_only ? 0 : o->train_samples;
    const int64_t valid = o->eval_iters * o->global_batch_size;
    int64_t *of_train = mtlm_calloc(job->datasets, sizeof(*of_train));
    int64_t *of_valid = mtlm_calloc(job->datasets, sizeof(*of_valid));
    const bool train_exact =
        train > 0 && count_samples(job, MTLM_TRAIN, train, of_train);
    const bool valid_exact =
        valid > 0 && count_samples(job, MTLM_VALID, valid, of_valid);

    printf("data: %d data sets\n", job->datasets);
    for (int i = 0; i < job->datasets; i++) {
        const struct mtlm_job_dataset *d = &job->data[i];

        printf("  %s:", mtlm_indexed_dataset_prefix(d->dataset));
        print_share("training", d->serves[MTLM_TRAIN], train_exact, of_train[i],
                    train);
        print_share("validation", d->serves[MTLM_VALID], valid_exact,
                    of_valid[i], valid);
        printf(" %" PRId64 " tokens\n",
               mtlm_indexed_dataset_tokens(
                   d->dataset, 0, mtlm_indexed_dataset_documents(d->dataset)));
        print_cut(job, d);
        print_too_long(d);
        print_no_test(job, d);
    }
    free(of_valid);
    free(of_train);
}

void mtlm_job_data_print(const struct mtlm_job *job)
{
    const struct mtlm_job_dataset *d = job->data;

    if (job->finetune) {
        mtlm_job_finetune_print(job);
    } else if (job->scored) {
        mtlm_job_task_print(job);
    } else if (job->datasets == 0) {
        printf("data: mock data (--data-path PREFIX reads text)\n");
    } else if (job->datasets > 1) {
        print_blend(job);
    } else {
        printf("data: %s, %" PRId64 " document%s\n",
               mtlm_indexed_dataset_prefix(d->dataset), d->documents,
               mtlm_plural(d->documents));
        print_cut(job, d);
        print_too_long(d);
        print_no_test(job, d);
    }
}
