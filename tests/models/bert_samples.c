#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/bert_samples.h"
#include "tests/models/files.h"

static bool by_tens(const struct mtlm_bert_vocab *vocab, int32_t before,
                    int32_t token)
{
    (void) vocab, (void) before;
    return token % 3 != 0;
}

static const struct mtlm_bert_vocab vocab = {.cls = BERT_CLS,
                                             .sep = BERT_SEP,
                                             .mask = BERT_MASK,
                                             .pad = BERT_PAD,
                                             .ordinary = BERT_VOCAB,
                                             .continues = by_tens};

const struct mtlm_bert_recipe bert_plain = {
    .vocab = &vocab, .seq_length = BERT_S, .binary_head = true, .seed = 1};
const struct mtlm_bert_recipe bert_usual = {.vocab = &vocab,
                                            .seq_length = BERT_S,
                                            .mask_prob = 0.15,
                                            .short_seq_prob = 0.1,
                                            .binary_head = true,
                                            .seed = 1};

/* clang-format off */
static const int64_t length[] = {
    30, -1,                                 /* one sentence */
    10, 20, 5, -1,                          /* short as a whole */
    30, 30, 30, 10, 10, 10, 10, 10, 10, -1, /* 3 that reach 61, and 6 */
    20, 513, 20, -1,                        /* one of them is too long */
    200, 300, -1,                           /* far longer than a sample */
    5, 512, 5, 60, 1, 60, 1, -1,            /* 2, 2, and 3: none is left */
    0, 7, 0, -1,                            /* with empty ones */
    -1};                                    /* empty */
/* clang-format on */

struct mtlm_samples *bert_create(struct mtlm_indexed_dataset *set,
                                 const struct mtlm_bert_recipe *recipe)
{
    struct mtlm_samples *samples = mtlm_bert_dataset_create(
        set, 0, mtlm_indexed_dataset_documents(set), recipe, NULL);

    assert_non_null(samples);
    return samples;
}

int bert_setup(void **state)
{
    static struct bert_fixture f;

    files_setup(NULL);
    files_write_sentences("bert", length, BERT_DOCUMENTS, BERT_VOCAB);
    f.set = mtlm_indexed_dataset_open(files_path("bert"), BERT_VOCAB, NULL);
    f.samples = bert_create(f.set, &bert_usual);
    *state = &f;
    return 0;
}

int bert_teardown(void **state)
{
    struct bert_fixture *f = *state;

    mtlm_samples_destroy(f->samples);
    mtlm_indexed_dataset_close(f->set);
    return files_teardown(NULL);
}

struct bert_sample bert_read(struct mtlm_samples *samples, int64_t n)
{
    struct bert_sample r;

    memset(&r, 0, sizeof(r));
    mtlm_samples_read(samples, n, MTLM_FIELD_TOKENS, 0, BERT_S, r.tokens);
    mtlm_samples_read(samples, n, MTLM_FIELD_LABELS, 0, BERT_S, r.labels);
    mtlm_samples_read(samples, n, MTLM_FIELD_LOSS_MASK, 0, BERT_S, r.mask);
    mtlm_samples_read(samples, n, MTLM_FIELD_TYPES, 0, BERT_S, r.types);
    mtlm_samples_read(samples, n, MTLM_FIELD_LENGTH, 0, 1, &r.length);
    mtlm_samples_read(samples, n, MTLM_FIELD_ORDER, 0, 1, &r.order);
    return r;
}

struct bert_segments bert_take_apart(const struct bert_sample *r)
{
    struct bert_segments s = {0};
    int i = 1;

    assert_int_equal(r->labels[0], BERT_CLS);
    for (; r->labels[i] != BERT_SEP; i++)
        assert_true(i == 1 || r->labels[i] == r->labels[i - 1] + 1);
    s.a = r->labels[1];
    s.a_n = i - 1;
    s.b = r->labels[++i];
    for (; r->labels[i] != BERT_SEP; i++)
        assert_true(i == s.a_n + 2 || r->labels[i] == r->labels[i - 1] + 1);
    s.b_n = i - s.a_n - 2;
    assert_int_equal(r->length, i + 1);
    while (++i < BERT_S)
        assert_int_equal(r->labels[i], BERT_PAD);
    return s;
}

bool bert_same(const struct bert_sample *a, const struct bert_sample *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}
