/* GPT samples from an endless stream of shuffled documents. */

#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "models/text/causal.h"
#include "models/text/gpt_dataset.h"
#include "models/text/permutation.h"
#include "runtime/base/memory.h"
#include "runtime/base/philox.h"

/* The documents of an epoch in their order. */
struct sample_order {
    int64_t epoch;  /* -1: none yet */
    int64_t *start; /* [documents + 1]: in the epoch's tokens */
};

struct gpt_dataset {
    struct mtlm_samples samples;
    const struct mtlm_indexed_dataset *dataset;
    int64_t first_document, documents;
    int64_t tokens; /* of an epoch; enough for a sample */
    uint64_t seed;
    int32_t eod; /* labels after this token do not count; or -1 */
    /* A piece lies in at most two epochs, which are neighbours.  order[e % 2]
     * holds the order of epoch e. */
    pthread_rwlock_t lock;
    struct sample_order order[2];
};

/* Streams of shuffles: layer 65535 does not exist; two of its sites are used.
 */
static uint64_t stream_documents(int64_t epoch)
{
    return mtlm_philox_dropout_stream(epoch, 0xffff, 0);
}

static uint64_t stream_pieces(int64_t epoch)
{
    return mtlm_philox_dropout_stream(epoch, 0xffff, 1);
}

/* Returns the document at place i of an epoch. */
static int64_t document_at(const struct gpt_dataset *gpt, int64_t epoch,
                           int64_t i)
{
    return gpt->first_document
           + mtlm_permutation_apply(gpt->seed, stream_documents(epoch),
                                    gpt->documents, i);
}

static int64_t document_tokens(const struct gpt_dataset *gpt, int64_t document)
{
    return mtlm_indexed_dataset_tokens(gpt->dataset, document, document + 1);
}

static void make_order(struct gpt_dataset *gpt, int64_t epoch)
{
    struct sample_order *order = &gpt->order[epoch % 2];

    if (order->epoch == epoch)
        return;
    for (int64_t i = 0; i < gpt->documents; i++)
        order->start[i + 1] =
            order->start[i] + document_tokens(gpt, document_at(gpt, epoch, i));
    order->epoch = epoch;
}

/* Returns the place of the document that holds token `at` of the epoch: the
 * last non-empty one that begins there or before. */
static int64_t find_place(const struct gpt_dataset *gpt,
                          const struct sample_order *order, int64_t at)
{
    int64_t low = 0, high = gpt->documents;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (order->start[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Writes tokens at .. at + n - 1 of an epoch. */
static void read_epoch(const struct gpt_dataset *gpt, int64_t epoch, int64_t at,
                       int64_t n, int32_t *tokens)
{
    const struct sample_order *order = &gpt->order[epoch % 2];

    assert(order->epoch == epoch);
    for (int64_t place = find_place(gpt, order, at); n > 0; place++) {
        const int64_t left = order->start[place + 1] - at;
        const int64_t some = n < left ? n : left;

        mtlm_indexed_dataset_read(gpt->dataset, document_at(gpt, epoch, place),
                                  at - order->start[place], some, tokens);
        tokens += some;
        at += some;
        n -= some;
    }
}

/* Makes the orders of epochs first and last (first or first + 1), and locks
 * them against replacement. */
static void lock_orders(struct gpt_dataset *gpt, int64_t first, int64_t last)
{
    pthread_rwlock_rdlock(&gpt->lock);
    if (gpt->order[first % 2].epoch == first
        && gpt->order[last % 2].epoch == last)
        return;
    pthread_rwlock_unlock(&gpt->lock);
    pthread_rwlock_wrlock(&gpt->lock);
    make_order(gpt, first);
    make_order(gpt, last);
}

static int64_t first_sample(const struct gpt_dataset *gpt, int64_t epoch)
{
    const int64_t s = gpt->samples.seq_length;

    return (epoch * gpt->tokens + s - 1) / s;
}

/* Writes tokens of piece number sample, which has s + 1. */
static void read_piece(struct mtlm_samples *samples, int64_t sample,
                       int64_t first, int64_t n, int32_t *tokens)
{
    struct gpt_dataset *gpt = (struct gpt_dataset *) samples;
    const int64_t s = samples->seq_length;
    int64_t epoch, begin, at, last;

    assert(sample < INT64_MAX / 4 / s);
    if (n == 0)
        return;
    epoch = sample * s / gpt->tokens;
    begin = first_sample(gpt, epoch);
    at = (begin
          + mtlm_permutation_apply(gpt->seed, stream_pieces(epoch),
                                   first_sample(gpt, epoch + 1) - begin,
                                   sample - begin))
             * s
         + first;
    epoch = at / gpt->tokens;
    last = (at + n - 1) / gpt->tokens;
    at %= gpt->tokens;

    lock_orders(gpt, epoch, last);
    if (last > epoch) {
        const int64_t here = gpt->tokens - at;

        read_epoch(gpt, epoch, at, here, tokens);
        read_epoch(gpt, last, 0, n - here, tokens + here);
    } else {
        read_epoch(gpt, epoch, at, n, tokens);
    }
    pthread_rwlock_unlock(&gpt->lock);
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    mtlm_causal_read(samples, read_piece, ((struct gpt_dataset *) samples)->eod,
                     sample, field, first, n, values);
}

static void destroy(struct mtlm_samples *samples)
{
    struct gpt_dataset *gpt = (struct gpt_dataset *) samples;

    for (int i = 0; i < 2; i++)
        free(gpt->order[i].start);
    pthread_rwlock_destroy(&gpt->lock);
    free(gpt);
}

struct mtlm_samples *mtlm_gpt_dataset_create(
    const struct mtlm_indexed_dataset *dataset, int64_t first_document,
    int64_t last_document, int64_t seq_length, uint64_t seed, int32_t eod,
    struct mtlm_error *err)
{
    const int64_t tokens =
        mtlm_indexed_dataset_tokens(dataset, first_document, last_document);
    struct gpt_dataset *gpt;

    assert(seq_length > 0);
    if (tokens <= seq_length) {
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: %" PRId64 " documents from number %" PRId64
                       " on hold %" PRId64 " tokens, expected at least %" PRId64
                       " for one sample (sequence length %" PRId64 " + 1)",
                       mtlm_indexed_dataset_prefix(dataset),
                       last_document - first_document, first_document, tokens,
                       seq_length + 1, seq_length);
        return NULL;
    }
    gpt = mtlm_calloc(1, sizeof(*gpt));
    *gpt = (struct gpt_dataset){
        .samples = {.seq_length = seq_length,
                    .epoch = (tokens - 1) / seq_length,
                    .read = read_sample,
                    .destroy = destroy},
        .dataset = dataset,
        .first_document = first_document,
        .documents = last_document - first_document,
        .tokens = tokens,
        .seed = seed,
        .eod = eod,
    };
    pthread_rwlock_init(&gpt->lock, NULL);
    for (int i = 0; i < 2; i++) {
        gpt->order[i].epoch = -1;
        gpt->order[i].start =
            mtlm_calloc(gpt->documents + 1, sizeof(*gpt->order[i].start));
    }
    return &gpt->samples;
}
