/* Samples of a BERT: which sentences, in which order, how cut, and whether the
 * fields tell the truth about it.  Tokens are numbered through the data, so
 * that each tells where it comes from. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/split.h"
#include "tests/models/bert_samples.h"
#include "tests/models/files.h"

/* The runs of bert_plain, first sentence of each, and the end of it. */
static const int64_t runs[BERT_RUNS][2] = {
    {1, 4}, {4, 7}, {7, 13}, {16, 18}, {18, 20}, {20, 22}, {22, 25}, {25, 28}};

static int64_t sentence_start(const struct bert_fixture *f, int64_t sentence)
{
    return mtlm_indexed_dataset_sequence_tokens(f->set, 0, sentence);
}

/* The run that the tokens first .. last are of. */
static int run_of(const struct bert_fixture *f, int32_t first, int32_t last)
{
    for (int r = 0; r < BERT_RUNS; r++)
        if (first >= sentence_start(f, runs[r][0])
            && last < sentence_start(f, runs[r][1]))
            return r;
    fail_msg("tokens %d .. %d are of no run", first, last);
    return -1;
}

static int run_of_segments(const struct bert_fixture *f,
                           const struct bert_segments *s)
{
    const int32_t first = s->b_n && (s->a_n == 0 || s->b < s->a) ? s->b : s->a;
    const int32_t a_last = s->a + s->a_n - 1, b_last = s->b + s->b_n - 1;

    return run_of(f, first,
                  s->b_n && (s->a_n == 0 || b_last > a_last) ? b_last : a_last);
}

static void test_each_document_is_used_as_told(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_samples *samples = bert_create(f->set, &bert_plain);

    for (int64_t epoch = 0; epoch < 50; epoch++) {
        int count[BERT_RUNS] = {0};

        for (int64_t i = 0; i < BERT_RUNS; i++) {
            const struct bert_sample r =
                bert_read(samples, epoch * BERT_RUNS + i);
            const struct bert_segments s = bert_take_apart(&r);

            count[run_of_segments(f, &s)]++;
        }
        for (int r = 0; r < BERT_RUNS; r++)
            assert_int_equal(count[r], 1);
    }
    mtlm_samples_destroy(samples);
}

static void test_fields_fit_each_other(void **state)
{
    struct bert_fixture *f = *state;
    int64_t masked = 0;

    for (int64_t n = 0; n < 3000; n++) {
        const struct bert_sample r = bert_read(f->samples, n);
        const struct bert_segments s = bert_take_apart(&r);
        const int64_t before = masked;

        assert_in_range(r.length, 3, BERT_S);
        assert_in_range(r.order, 0, 1);
        for (int i = 0; i < BERT_S; i++) {
            assert_in_range(r.labels[i], 0, BERT_PAD);
            assert_int_equal(r.types[i], i >= s.a_n + 2 && i < r.length);
            assert_in_range(r.mask[i], 0, 1);
            if (r.mask[i])
                assert_in_range(r.labels[i], 0, BERT_VOCAB - 1);
            else
                assert_int_equal(r.tokens[i], r.labels[i]);
            masked += r.mask[i];
        }
        assert_true(masked > before); /* each sample teaches */
    }
    assert_in_range(masked, 3000 * 4, 3000 * 9);
}

/* Half of the samples have the later sentences first, and say so. */
static void test_the_order_is_the_texts(void **state)
{
    struct bert_fixture *f = *state;
    int64_t swapped = 0, all = 0;

    for (int64_t n = 0; n < 4000; n++) {
        const struct bert_sample r = bert_read(f->samples, n);
        const struct bert_segments s = bert_take_apart(&r);

        if (s.a_n == 0 || s.b_n == 0) /* of empty sentences */
            continue;
        assert_int_equal(r.order, s.b < s.a);
        swapped += r.order;
        all++;
    }
    assert_true(all > 3000);
    assert_true(fabs(swapped - all / 2.) < 2.5 * sqrt(all));
}

/* Sentences of ten tokens: a text that fits is whole, and B begins with any
 * sentence but the first. */
static void test_the_second_segment_begins_anywhere(void **state)
{
    static const int64_t six[] = {10, 10, 10, 10, 10, 10, -1};
    struct mtlm_indexed_dataset *set;
    struct mtlm_samples *samples;
    int count[6] = {0};

    (void) state;
    files_write_sentences("six", six, 1, BERT_VOCAB);
    set = mtlm_indexed_dataset_open(files_path("six"), BERT_VOCAB, NULL);
    samples = bert_create(set, &bert_plain);
    for (int64_t n = 0; n < 5000; n++) {
        const struct bert_sample r = bert_read(samples, n);
        const struct bert_segments s = bert_take_apart(&r);
        const int front = r.order ? s.b_n : s.a_n;

        assert_int_equal(s.a_n + s.b_n, 60);
        assert_int_equal(r.order ? s.b : s.a, 0);
        assert_int_equal(front % 10, 0);
        count[front / 10]++;
    }
    assert_int_equal(count[0], 0);
    for (int i = 1; i < 6; i++)
        assert_true(abs(count[i] - 1000) < 5 * sqrt(5000 * .2 * .8));
    mtlm_samples_destroy(samples);
    mtlm_indexed_dataset_close(set);
}

/* The long document, sentences of 200 and 300 tokens of which 61 remain: both
 * end up as long, and lose as much at the front as at the back. */
static void test_long_text_is_cut_at_random_ends(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_samples *samples = bert_create(f->set, &bert_plain);
    const int64_t begin = sentence_start(f, 16);
    double front = 0, square = 0;
    int64_t all = 0;

    for (int64_t n = 0; n < 8000; n++) {
        const struct bert_sample r = bert_read(samples, n);
        const struct bert_segments s = bert_take_apart(&r);
        const int a_all = r.order ? 300 : 200;
        const int32_t a_begin = (int32_t) (begin + (r.order ? 200 : 0));
        double lost;

        if (run_of_segments(f, &s) != 3)
            continue;
        assert_int_equal(r.length, BERT_S);
        assert_int_equal(s.a_n + s.b_n, BERT_TARGET);
        assert_in_range(s.b_n - s.a_n + 1, 0, 2);
        lost = s.a - a_begin - (a_all - s.a_n) / 2.;
        front += lost / sqrt((a_all - s.a_n) / 4.);
        square += lost * lost / ((a_all - s.a_n) / 4.);
        all++;
    }
    assert_int_equal(all, 1000);
    assert_true(fabs(front) < 5 * sqrt(all));
    assert_true(fabs(square / all - 1) < 5 * sqrt(2. / all));
    mtlm_samples_destroy(samples);
}

/* Only the longer segment loses tokens while it is the longer one. */
static void test_the_shorter_segment_stays_whole(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_samples *samples = bert_create(f->set, &bert_plain);
    const int64_t begin = sentence_start(f, 18); /* 5 and 512 */
    int seen = 0;

    for (int64_t n = 0; n < 100 * BERT_RUNS; n++) {
        const struct bert_sample r = bert_read(samples, n);
        const struct bert_segments s = bert_take_apart(&r);

        if (run_of_segments(f, &s) != 4)
            continue;
        assert_int_equal(r.order ? s.b : s.a, begin);
        assert_int_equal(r.order ? s.b_n : s.a_n, 5);
        assert_int_equal(s.a_n + s.b_n, BERT_TARGET);
        seen++;
    }
    assert_int_equal(seen, 100);
    mtlm_samples_destroy(samples);
}

/* Sentences that are too long are left out, and no sample reaches across.  A
 * sentence alone between two of them is no sample with the binary head. */
static void test_a_long_sentence_divides_its_document(void **state)
{
    enum { RUNS = 4 };
    static const int64_t divided[] = {10,  20, 600, 30, 30, 513, 7,
                                      700, 5,  5,   -1, 40, 40,  -1};
    static const int32_t token[RUNS][2] = {
        {0, 30}, {630, 690}, {1910, 1920}, {1920, 2000}};
    struct mtlm_bert_recipe recipe = bert_plain;
    struct mtlm_indexed_dataset *set;
    struct mtlm_samples *samples;
    int seen[RUNS] = {0};

    (void) state;
    files_write_sentences("divided", divided, 2, BERT_VOCAB);
    set = mtlm_indexed_dataset_open(files_path("divided"), BERT_VOCAB, NULL);
    samples = bert_create(set, &recipe);
    assert_int_equal(samples->epoch, RUNS);
    assert_int_equal(mtlm_bert_dataset_too_long(samples).sentences, 3);
    assert_int_equal(mtlm_bert_dataset_too_long(samples).tokens, 1813);
    for (int64_t n = 0; n < RUNS; n++) {
        const struct bert_sample r = bert_read(samples, n);

        for (int k = 0; k < RUNS; k++) {
            int text = 0;

            for (int i = 0; i < r.length; i++)
                text += r.labels[i] >= token[k][0] && r.labels[i] < token[k][1];
            seen[k] += text == r.length - 3; /* without [CLS], [SEP], [SEP] */
        }
    }
    for (int k = 0; k < RUNS; k++)
        assert_int_equal(seen[k], 1);
    mtlm_samples_destroy(samples);
    recipe.binary_head = false;
    samples = bert_create(set, &recipe);
    assert_int_equal(samples->epoch, RUNS + 1);
    mtlm_samples_destroy(samples);
    mtlm_indexed_dataset_close(set);
}

/* 3000 documents of two sentences of 100 tokens: every sample is as long as
 * its target, which is short in a third of them, by any number. */
static void test_some_samples_are_short(void **state)
{
    enum { N = 250 };
    struct mtlm_bert_recipe recipe = bert_plain;
    static int64_t many[3 * N];
    struct mtlm_indexed_dataset *set;
    int64_t full = 0, sum = 0, all = 0;

    (void) state;
    recipe.short_seq_prob = 1. / 3;
    for (int i = 0; i < 3 * N; i++)
        many[i] = i % 3 == 2 ? -1 : 100;
    files_write_sentences("many", many, N, BERT_VOCAB);
    set = mtlm_indexed_dataset_open(files_path("many"), BERT_VOCAB, NULL);
    for (recipe.seed = 1; recipe.seed < 11; recipe.seed++) {
        struct mtlm_samples *samples = bert_create(set, &recipe);

        for (int64_t n = 0; n < N; n++) {
            const struct bert_sample r = bert_read(samples, n);

            assert_in_range(r.length, 5, BERT_S);
            full += r.length == BERT_S;
            sum += r.length == BERT_S ? 0 : r.length - 3;
            all++;
        }
        mtlm_samples_destroy(samples);
    }
    /* 2 .. 61, of which 61 is full. */
    assert_true(fabs(full - all * (2. / 3 + 1. / 180))
                < 5 * sqrt(all * 2. / 9));
    assert_true(fabs((double) sum / (all - full) - 31) < 5 * 17.3 / sqrt(800));
    mtlm_indexed_dataset_close(set);
}

/* The sentence that is too long, and the document without a token. */
enum { TOO_LONG = 14, EMPTY = BERT_DOCUMENTS - 1 };

static int document_of(const struct bert_fixture *f,
                       const struct bert_sample *r)
{
    int d = 0;

    if (r->length == 2)
        return EMPTY;
    while (mtlm_indexed_dataset_tokens(f->set, 0, d + 1) <= r->labels[1])
        d++;
    return d;
}

static void test_without_binary_head_there_is_one_segment(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_bert_recipe recipe = bert_usual;
    struct mtlm_samples *samples;
    int count[BERT_DOCUMENTS] = {0}, lonely = 0;

    recipe.binary_head = false;
    samples = bert_create(f->set, &recipe);
    for (int64_t n = 0; n < 1000; n++) {
        const struct bert_sample r = bert_read(samples, n);

        assert_int_equal(r.order, 0);
        assert_in_range(r.length, 2, BERT_S - 1);
        assert_int_equal(r.labels[0], BERT_CLS);
        assert_int_equal(r.labels[r.length - 1], BERT_SEP);
        for (int i = 0; i < BERT_S; i++) {
            assert_int_equal(r.types[i], 0);
            if (i >= r.length)
                assert_int_equal(r.labels[i], BERT_PAD);
            else if (i >= 2 && i < r.length - 1)
                assert_int_equal(r.labels[i], r.labels[i - 1] + 1);
        }
        assert_true(r.labels[r.length - 2] < sentence_start(f, TOO_LONG)
                    || r.labels[1] >= sentence_start(f, TOO_LONG + 1));
        lonely += r.length > 2 && r.labels[1] < 30;
        count[document_of(f, &r)]++;
    }
    assert_true(lonely > 20);
    for (int d = 0; d < BERT_DOCUMENTS; d++)
        assert_true(count[d] > 0);
    mtlm_samples_destroy(samples);
}

static void test_splits_share_no_token(void **state)
{
    struct bert_fixture *f = *state;
    int64_t bound[MTLM_SPLITS + 1];
    static int owner[BERT_PAD + 1];

    memset(owner, -1, sizeof(owner));
    assert_int_equal(mtlm_split_parse("4,2,2", BERT_DOCUMENTS, bound, NULL), 0);
    for (int split = 0; split < MTLM_SPLITS; split++) {
        struct mtlm_samples *samples = mtlm_bert_dataset_create(
            f->set, bound[split], bound[split + 1], &bert_plain, NULL);

        assert_non_null(samples);
        for (int64_t n = 0; n < 200; n++) {
            const struct bert_sample r = bert_read(samples, n);

            for (int i = 0; i < BERT_S; i++) {
                if (r.labels[i] >= BERT_VOCAB)
                    continue;
                assert_true(owner[r.labels[i]] == -1
                            || owner[r.labels[i]] == split);
                owner[r.labels[i]] = split;
            }
        }
        mtlm_samples_destroy(samples);
    }
}

static void refused(const char *name, const int64_t lengths[],
                    int64_t documents, bool binary_head, const char *why)
{
    struct mtlm_bert_recipe recipe = bert_usual;
    struct mtlm_indexed_dataset *set;
    struct mtlm_error err = {0};

    recipe.binary_head = binary_head;
    files_write_sentences(name, lengths, documents, BERT_VOCAB);
    set = mtlm_indexed_dataset_open(files_path(name), BERT_VOCAB, NULL);
    assert_null(mtlm_bert_dataset_create(set, 0, documents, &recipe, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    mtlm_indexed_dataset_close(set);
}

static void test_no_sample_is_an_error_with_the_reason(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_error err = {0};

    refused("whole", (const int64_t[]){50, -1, 60, -1}, 2, true,
            "whole: each of 2 documents from number 0 on is one sequence, "
            "expected sentences: make the data with mtlm-preprocess "
            "--split-sentences");
    refused("whole", (const int64_t[]){513, -1, 600, -1}, 2, false,
            "--split-sentences");
    refused("long", (const int64_t[]){513, 1, -1, 2, -1}, 2, true,
            "long: 2 documents from number 0 on hold 3 sentences, expected at "
            "least one document with 2 or more neighbouring sentences of at "
            "most 512 tokens");
    assert_null(mtlm_bert_dataset_create(f->set, 8, 8, &bert_usual, &err));
    assert_non_null(strstr(err.text, "0 documents"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_document_is_used_as_told),
        cmocka_unit_test(test_fields_fit_each_other),
        cmocka_unit_test(test_the_order_is_the_texts),
        cmocka_unit_test(test_the_second_segment_begins_anywhere),
        cmocka_unit_test(test_long_text_is_cut_at_random_ends),
        cmocka_unit_test(test_the_shorter_segment_stays_whole),
        cmocka_unit_test(test_a_long_sentence_divides_its_document),
        cmocka_unit_test(test_some_samples_are_short),
        cmocka_unit_test(test_without_binary_head_there_is_one_segment),
        cmocka_unit_test(test_splits_share_no_token),
        cmocka_unit_test(test_no_sample_is_an_error_with_the_reason),
    };

    return cmocka_run_group_tests(tests, bert_setup, bert_teardown);
}
