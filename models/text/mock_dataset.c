#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "models/text/causal.h"
#include "models/text/mock_dataset.h"
#include "runtime/memory.h"
#include "runtime/philox.h"

enum { MAX_SYMBOLS = 256 };

struct mock_dataset {
    struct mtlm_samples samples;
    int64_t vocab_size;
    uint64_t seed;
    int symbols;
    uint64_t frequency[MAX_SYMBOLS]; /* of 2^32: of symbols 0 .. i */
};

/* The symbol of which u, of 0 .. 2^32 - 1, is a drawing. */
static int by_frequency(const struct mock_dataset *mock, uint32_t u)
{
    int low = 0, high = mock->symbols - 1;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (u < mock->frequency[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The one successor that the chain favours after this context. */
static int favourite(const struct mock_dataset *mock, int context)
{
    uint32_t r[4];

    mtlm_philox(0, mtlm_stream_dropout(0, 0xffff, 2), context, r);
    return (int) (r[0] % (uint32_t) mock->symbols);
}

/* Triples look at one bit of the symbol before, so that few samples show them
 * all. */
static int next_symbol(const struct mock_dataset *mock, int64_t sample,
                       int64_t at, int last, int before)
{
    uint32_t r[4];

    mtlm_philox(mock->seed, mtlm_stream_dropout(sample, 0xffff, 3), at, r);
    if (at >= 1 && r[0] % 8 < 3)
        return favourite(mock, last);
    if (at >= 2 && r[0] % 8 < 6)
        return favourite(mock, MAX_SYMBOLS * (1 + before % 2) + last);
    return by_frequency(mock, r[1]);
}

static void read_chain(struct mtlm_samples *samples, int64_t sample,
                       int64_t first, int64_t n, int32_t *tokens)
{
    const struct mock_dataset *mock = (const struct mock_dataset *) samples;
    int last = 0, before = 0;

    for (int64_t at = 0; at < first + n; at++) {
        const int symbol = next_symbol(mock, sample, at, last, before);

        before = last;
        last = symbol;
        if (at >= first)
            tokens[at - first] =
                (int32_t) (symbol * mock->vocab_size / mock->symbols);
    }
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    mtlm_causal_read(samples, read_chain, -1, sample, field, first, n, values);
}

static void destroy(struct mtlm_samples *samples)
{
    free(samples);
}

struct mtlm_samples *mtlm_mock_dataset_create(int64_t vocab_size,
                                              int64_t seq_length, uint64_t seed)
{
    struct mock_dataset *mock = mtlm_calloc(1, sizeof(*mock));
    double all = 0, sum = 0;

    assert(vocab_size >= 1 && seq_length >= 1);
    mock->samples = (struct mtlm_samples){
        .seq_length = seq_length, .read = read_sample, .destroy = destroy};
    mock->vocab_size = vocab_size;
    mock->seed = seed;
    mock->symbols = vocab_size < MAX_SYMBOLS ? (int) vocab_size : MAX_SYMBOLS;
    for (int i = 0; i < mock->symbols; i++)
        all += 1. / (i + 1);
    for (int i = 0; i < mock->symbols; i++) {
        sum += 1. / (i + 1);
        mock->frequency[i] = (uint64_t) llrint(sum / all * 4294967296.);
    }
    return &mock->samples;
}
