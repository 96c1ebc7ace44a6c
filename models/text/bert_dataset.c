/* BERT samples from documents whose sequences are sentences. */

#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "models/text/bert_dataset.h"
#include "models/text/permutation.h"
#include "runtime/base/memory.h"

/* A run: neighbouring sentences of a sample. */
struct run {
    int64_t first; /* sentence */
    int32_t sentences, target;
};

struct bert_dataset {
    struct mtlm_samples samples;
    const struct mtlm_indexed_dataset *dataset;
    struct mtlm_bert_recipe recipe;
    struct run *run; /* [runs], room for capacity */
    int64_t runs;
    size_t capacity;
    struct mtlm_bert_too_long too_long;
};

/* A run as the text of a sample. */
struct run_text {
    struct mtlm_bert_text text;
    const struct mtlm_indexed_dataset *dataset;
    int64_t first;
};

/* Streams of draws: layer 65535 does not exist; its sites 4, 5 and 6 are for
 * target lengths, orders of epochs, and samples. */
static uint64_t stream_targets(int64_t document)
{
    return mtlm_philox_dropout_stream(document, 0xffff, 4);
}

static uint64_t stream_order(int64_t epoch)
{
    return mtlm_philox_dropout_stream(epoch, 0xffff, 5);
}

static uint64_t stream_sample(int64_t sample)
{
    return mtlm_philox_dropout_stream(sample, 0xffff, 6);
}

static int64_t sentence_tokens(const struct bert_dataset *bert,
                               int64_t sentence)
{
    return mtlm_indexed_dataset_sequence_tokens(bert->dataset, sentence,
                                                sentence + 1);
}

struct mtlm_bert_too_long mtlm_bert_dataset_too_long(
    const struct mtlm_samples *samples)
{
    return ((const struct bert_dataset *) samples)->too_long;
}

static void add_run(struct bert_dataset *bert, int64_t first, int64_t last,
                    int64_t target)
{
    bert->run = mtlm_make_room(bert->run, &bert->capacity, bert->runs + 1,
                               sizeof(*bert->run));
    bert->run[bert->runs++] =
        (struct run){first, (int32_t) (last - first), (int32_t) target};
}

static int64_t fewest_sentences(const struct bert_dataset *bert)
{
    return bert->recipe.binary_head ? 2 : 1;
}

/* Cuts the sentences first .. last - 1 of a document into runs, where they are
 * enough for one. */
static void cut_passage(struct bert_dataset *bert, int64_t first, int64_t last,
                        struct mtlm_draw *draw)
{
    int64_t target, tokens = 0;

    if (last - first < fewest_sentences(bert))
        return;
    target = mtlm_bert_sample_target(&bert->recipe, draw);
    for (int64_t i = first; i < last; i++) {
        const int64_t left = last - i - 1;

        tokens += sentence_tokens(bert, i);
        if (left == 0
            || (left > 1 && tokens >= target
                && i + 1 - first >= fewest_sentences(bert))) {
            add_run(bert, first, i + 1, target);
            first = i + 1;
            target = mtlm_bert_sample_target(&bert->recipe, draw);
            tokens = 0;
        }
    }
}

/* Cuts a document into the passages between sentences that are too long.  A
 * book is one document: dropping it as Megatron-LM does, for a list in it,
 * would often leave no text. */
static void cut_document(struct bert_dataset *bert, int64_t document)
{
    const int64_t last =
        mtlm_indexed_dataset_sequence(bert->dataset, document + 1);
    struct mtlm_draw draw =
        mtlm_draw_start(bert->recipe.seed, stream_targets(document));
    int64_t first = mtlm_indexed_dataset_sequence(bert->dataset, document);

    for (int64_t i = first; i < last; i++) {
        const int64_t tokens = sentence_tokens(bert, i);

        if (tokens <= MTLM_BERT_LONGEST)
            continue;
        cut_passage(bert, first, i, &draw);
        first = i + 1;
        bert->too_long.sentences++;
        bert->too_long.tokens += tokens;
    }
    cut_passage(bert, first, last, &draw);
}

static void read_run(const struct mtlm_bert_text *text, int64_t first,
                     int64_t n, int32_t *tokens)
{
    const struct run_text *run = (const struct run_text *) text;

    mtlm_indexed_dataset_sequence_read(run->dataset, run->first, first, n,
                                       tokens);
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const struct bert_dataset *bert = (const struct bert_dataset *) samples;
    const struct mtlm_bert_recipe *recipe = &bert->recipe;
    const int64_t epoch = sample / bert->runs;
    const struct run *run = &bert->run[mtlm_permutation_apply(
        recipe->seed, stream_order(epoch), bert->runs, sample % bert->runs)];
    const int64_t last = run->first + run->sentences;
    struct mtlm_draw draw =
        mtlm_draw_start(recipe->seed, stream_sample(sample));
    struct run_text text = {
        .text = {.tokens = mtlm_indexed_dataset_sequence_tokens(
                     bert->dataset, run->first, last),
                 .read = read_run},
        .dataset = bert->dataset,
        .first = run->first};

    assert(sample >= 0 && sample < INT64_C(1) << 44);
    if (recipe->binary_head)
        text.text.pivot = mtlm_indexed_dataset_sequence_tokens(
            bert->dataset, run->first,
            run->first + 1 + mtlm_draw_below(&draw, run->sentences - 1));
    mtlm_bert_sample_read(recipe, &text.text, run->target, draw, field, first,
                          n, values);
}

static void destroy(struct mtlm_samples *samples)
{
    struct bert_dataset *bert = (struct bert_dataset *) samples;

    free(bert->run);
    free(bert);
}

static int fail(const struct mtlm_indexed_dataset *dataset,
                int64_t first_document, int64_t last_document,
                const struct mtlm_bert_recipe *recipe, struct mtlm_error *err)
{
    const char *prefix = mtlm_indexed_dataset_prefix(dataset);
    const int64_t documents = last_document - first_document;
    const int64_t sentences =
        mtlm_indexed_dataset_sequence(dataset, last_document)
        - mtlm_indexed_dataset_sequence(dataset, first_document);

    if (documents > 0 && sentences <= documents)
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: each of %" PRId64 " documents from number %" PRId64
            " on is one sequence, expected sentences: make the data with "
            "mtlm-preprocess --split-sentences",
            prefix, documents, first_document);
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: %" PRId64 " documents from number %" PRId64 " on hold %" PRId64
        " sentences, expected at least one document with %d or more "
        "neighbouring sentences of at most %d tokens",
        prefix, documents, first_document, sentences,
        recipe->binary_head ? 2 : 1, MTLM_BERT_LONGEST);
}

struct mtlm_samples *mtlm_bert_dataset_create(
    const struct mtlm_indexed_dataset *dataset, int64_t first_document,
    int64_t last_document, const struct mtlm_bert_recipe *recipe,
    struct mtlm_error *err)
{
    struct bert_dataset *bert = mtlm_calloc(1, sizeof(*bert));

    *bert = (struct bert_dataset){
        .samples = {.seq_length = recipe->seq_length,
                    .read = read_sample,
                    .destroy = destroy},
        .dataset = dataset,
        .recipe = *recipe,
    };
    for (int64_t d = first_document; d < last_document; d++)
        cut_document(bert, d);
    if (bert->runs == 0) {
        fail(dataset, first_document, last_document, recipe, err);
        destroy(&bert->samples);
        return NULL;
    }
    bert->samples.epoch = bert->runs;
    return &bert->samples;
}
