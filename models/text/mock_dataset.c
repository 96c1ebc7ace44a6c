/* Pseudo-text from a Markov chain, for runs without data. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "models/text/causal.h"
#include "models/text/mock_dataset.h"
#include "runtime/base/memory.h"
#include "runtime/base/philox.h"

enum { MAX_SYMBOLS = 256 };

struct mock_dataset {
    struct mtlm_samples samples;
    int64_t words; /* tokens that the symbols are spread over */
    uint64_t seed;
    int symbols;
    uint64_t frequency[MAX_SYMBOLS]; /* of symbols 0 .. i, times 2^32 */
    /* of a BERT */
    struct mtlm_bert_recipe recipe;
    struct mtlm_bert_vocab vocab;
};

/* The text of a BERT's sample. */
struct mock_text {
    struct mtlm_bert_text text;
    const struct mock_dataset *mock;
    int64_t sample;
};

/* Returns the symbol for a draw u in 0 .. 2^32 - 1. */
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

/* Returns the favoured successor after a context. */
static int favourite(const struct mock_dataset *mock, int context)
{
    uint32_t r[4];

    mtlm_philox(0, mtlm_philox_dropout_stream(0, 0xffff, 2), context, r);
    return (int) (r[0] % (uint32_t) mock->symbols);
}

/* Triples depend on one bit of the earlier symbol, so that few samples show
 * them all. */
static int next_symbol(const struct mock_dataset *mock, int64_t sample,
                       int64_t at, int last, int before)
{
    uint32_t r[4];

    mtlm_philox(mock->seed, mtlm_philox_dropout_stream(sample, 0xffff, 3), at,
                r);
    if (at >= 1 && r[0] % 8 < 3)
        return favourite(mock, last);
    if (at >= 2 && r[0] % 8 < 6)
        return favourite(mock, MAX_SYMBOLS * (1 + before % 2) + last);
    return by_frequency(mock, r[1]);
}

static void read_chain(const struct mock_dataset *mock, int64_t sample,
                       int64_t first, int64_t n, int32_t *tokens)
{
    int last = 0, before = 0;

    for (int64_t at = 0; at < first + n; at++) {
        const int symbol = next_symbol(mock, sample, at, last, before);

        before = last;
        last = symbol;
        if (at >= first)
            tokens[at - first] =
                (int32_t) (symbol * mock->words / mock->symbols);
    }
}

static void read_text(struct mtlm_samples *samples, int64_t sample,
                      int64_t first, int64_t n, int32_t *tokens)
{
    read_chain((const struct mock_dataset *) samples, sample, first, n, tokens);
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    mtlm_causal_read(samples, read_text, -1, sample, field, first, n, values);
}

/* Writes the chain's text, with the two tokens that mark the segments. */
static void read_segments(const struct mtlm_bert_text *text, int64_t first,
                          int64_t n, int32_t *tokens)
{
    const struct mock_text *mock_text = (const struct mock_text *) text;
    const struct mock_dataset *mock = mock_text->mock;

    read_chain(mock, mock_text->sample, first, n, tokens);
    if (first == 0 && n > 0)
        tokens[0] = 0;
    if (first <= text->pivot && text->pivot < first + n)
        tokens[text->pivot - first] = (int32_t) mock->words - 1;
}

static void read_bert(struct mtlm_samples *samples, int64_t sample,
                      enum mtlm_field field, int64_t first, int64_t n,
                      int32_t *values)
{
    const struct mock_dataset *mock = (const struct mock_dataset *) samples;
    struct mtlm_draw draw = mtlm_draw_start(
        mock->seed, mtlm_philox_dropout_stream(sample, 0xffff, 7));
    const int64_t target = mtlm_bert_sample_target(&mock->recipe, &draw);
    const struct mock_text text = {
        .text = {.tokens = target,
                 .pivot = 1 + mtlm_draw_below(&draw, target - 1),
                 .read = read_segments},
        .mock = mock,
        .sample = sample};

    mtlm_bert_sample_read(&mock->recipe, &text.text, target, draw, field, first,
                          n, values);
}

static bool never_continues(const struct mtlm_bert_vocab *vocab, int32_t before,
                            int32_t token)
{
    (void) vocab, (void) before, (void) token;
    return false;
}

static void destroy(struct mtlm_samples *samples)
{
    free(samples);
}

static struct mock_dataset *create(int64_t words, int64_t seq_length,
                                   uint64_t seed)
{
    struct mock_dataset *mock = mtlm_calloc(1, sizeof(*mock));
    double all = 0, sum = 0;

    mock->samples = (struct mtlm_samples){
        .seq_length = seq_length, .read = read_sample, .destroy = destroy};
    mock->words = words;
    mock->seed = seed;
    mock->symbols = words < MAX_SYMBOLS ? (int) words : MAX_SYMBOLS;
    for (int i = 0; i < mock->symbols; i++)
        all += 1. / (i + 1);
    for (int i = 0; i < mock->symbols; i++) {
        sum += 1. / (i + 1);
        mock->frequency[i] = (uint64_t) llrint(sum / all * 4294967296.);
    }
    return mock;
}

struct mtlm_samples *mtlm_mock_dataset_create(int64_t vocab_size,
                                              int64_t seq_length, uint64_t seed)
{
    assert(vocab_size >= 1 && seq_length >= 1);
    return &create(vocab_size, seq_length, seed)->samples;
}

struct mtlm_samples *mtlm_mock_dataset_create_bert(
    int64_t vocab_size, const struct mtlm_bert_recipe *recipe)
{
    const int32_t words = (int32_t) vocab_size - 4;
    struct mock_dataset *mock = create(words, recipe->seq_length, recipe->seed);

    assert(vocab_size >= MTLM_MOCK_BERT_VOCAB);
    mock->vocab = (struct mtlm_bert_vocab){.cls = words,
                                           .sep = words + 1,
                                           .mask = words + 2,
                                           .pad = words + 3,
                                           .ordinary = words,
                                           .continues = never_continues};
    mock->recipe = *recipe;
    mock->recipe.vocab = &mock->vocab;
    mock->samples.read = read_bert;
    return &mock->samples;
}
