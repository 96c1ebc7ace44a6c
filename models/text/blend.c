/* Samples of several sources in one order, by weight. */

#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "models/text/blend.h"
#include "runtime/base/memory.h"

enum { BLOCK = 1 << 14 }; /* samples whose order is computed at once */

/* Where the samples of a block come from. */
struct block {
    int64_t number;   /* -1: none yet */
    uint16_t *source; /* [BLOCK] */
    int64_t *sample;  /* [BLOCK], of that source */
};

struct blend {
    struct mtlm_samples samples;
    struct mtlm_samples **source; /* [n] */
    double *weight;               /* [n], sum 1 */
    int n;
    /* Readers need at most two neighbouring blocks: block[b % 2] is block b. */
    pthread_rwlock_t lock;
    struct block block[2];
    int64_t **count; /* [counts][n] at the start of each block */
    int64_t counts;
};

static double *normalized(const double *weight, int n)
{
    double *share = mtlm_calloc(n, sizeof(*share)), sum = 0;

    for (int i = 0; i < n; i++)
        sum += weight[i];
    for (int i = 0; i < n; i++)
        share[i] = weight[i] / sum;
    return share;
}

/* Returns how far a source is behind its share.  The product is rounded, as in
 * Megatron's helper: a fused multiply-add would order equal errors otherwise.
 */
static double error_of(double share, double before, int64_t count)
{
    const volatile double product = share * before;

    return product - (double) count;
}

/* Returns the source of a sample by the counts before it. */
static int next_source(const double *share, int n, int64_t sample,
                       const int64_t *count)
{
    const double before = sample > 0 ? (double) sample : 1;
    double most = error_of(share[0], before, count[0]);
    int source = 0;

    for (int i = 1; i < n; i++) {
        const double error = error_of(share[i], before, count[i]);

        if (error > most) {
            most = error;
            source = i;
        }
    }
    return source;
}

/* Computes a block whose first counts are known; stores the counts behind. */
static void fill_block(struct blend *b, int64_t number, struct block *block)
{
    int64_t *count = mtlm_calloc(b->n, sizeof(*count));

    memcpy(count, b->count[number], b->n * sizeof(*count));
    for (int64_t i = 0; i < BLOCK; i++) {
        const int source =
            next_source(b->weight, b->n, number * BLOCK + i, count);

        block->source[i] = (uint16_t) source;
        block->sample[i] = count[source]++;
    }
    block->number = number;
    if (number + 1 < b->counts) {
        free(count);
        return;
    }
    b->count = mtlm_realloc(b->count, b->counts + 1, sizeof(*b->count));
    b->count[b->counts++] = count;
}

static void make_block(struct blend *b, int64_t number)
{
    struct block *block = &b->block[number % 2];

    if (block->number == number)
        return;
    while (b->counts <= number)
        fill_block(b, b->counts - 1, block);
    fill_block(b, number, block);
}

/* Makes the block of a number, and locks it against replacement. */
static const struct block *lock_block(struct blend *b, int64_t number)
{
    const struct block *block = &b->block[number % 2];

    pthread_rwlock_rdlock(&b->lock);
    if (block->number == number)
        return block;
    pthread_rwlock_unlock(&b->lock);
    pthread_rwlock_wrlock(&b->lock);
    make_block(b, number);
    return block;
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    struct blend *b = (struct blend *) samples;
    const struct block *block = lock_block(b, sample / BLOCK);
    const int source = block->source[sample % BLOCK];
    const int64_t of_source = block->sample[sample % BLOCK];

    pthread_rwlock_unlock(&b->lock);
    mtlm_samples_read(b->source[source], of_source, field, first, n, values);
}

static void destroy(struct mtlm_samples *samples)
{
    struct blend *b = (struct blend *) samples;

    for (int i = 0; i < b->n; i++)
        mtlm_samples_destroy(b->source[i]);
    for (int64_t i = 0; i < b->counts; i++)
        free(b->count[i]);
    for (int i = 0; i < 2; i++) {
        free(b->block[i].source);
        free(b->block[i].sample);
    }
    pthread_rwlock_destroy(&b->lock);
    free(b->count);
    free(b->weight);
    free(b->source);
    free(b);
}

struct mtlm_samples *mtlm_blend_create(struct mtlm_samples *const *source,
                                       const double *weight, int n)
{
    struct blend *b = mtlm_calloc(1, sizeof(*b));

    assert(n >= 1 && n <= MTLM_BLEND_MOST);
    *b = (struct blend){.samples = {.seq_length = source[0]->seq_length,
                                    .read = read_sample,
                                    .destroy = destroy},
                        .source = mtlm_calloc(n, sizeof(*b->source)),
                        .weight = normalized(weight, n),
                        .n = n,
                        .count = mtlm_calloc(1, sizeof(*b->count)),
                        .counts = 1};
    memcpy(b->source, source, n * sizeof(*source));
    for (int i = 0; i < n; i++)
        b->samples.epoch += source[i]->epoch;
    b->count[0] = mtlm_calloc(n, sizeof(*b->count[0]));
    pthread_rwlock_init(&b->lock, NULL);
    for (int i = 0; i < 2; i++)
        b->block[i] = (struct block){
            .number = -1,
            .source = mtlm_calloc(BLOCK, sizeof(*b->block[i].source)),
            .sample = mtlm_calloc(BLOCK, sizeof(*b->block[i].sample))};
    return &b->samples;
}

void mtlm_blend_count(const double *weight, int n, int64_t samples,
                      int64_t *count)
{
    double *share = normalized(weight, n);

    memset(count, 0, n * sizeof(*count));
    for (int64_t i = 0; i < samples; i++)
        count[next_source(share, n, i, count)]++;
    free(share);
}
