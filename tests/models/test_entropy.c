/* Entropies against closed forms. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "models/text/entropy.h"
#include "models/text/indexed_writer.h"
#include "tests/models/files.h"

enum { MAX_DOCUMENTS = 4 };

/* Of documents first .. last - 1 of text, with and without ends. */
static struct mtlm_entropy measure(const char *const text[], int64_t documents,
                                   int64_t first, int64_t last, int eod)
{
    struct mtlm_indexed_dataset *set;
    struct mtlm_entropy entropy;

    files_write_text("entropy", text, documents, eod);
    set = mtlm_indexed_dataset_open(files_path("entropy"), 257, NULL);
    assert_non_null(set);
    entropy = mtlm_entropy_measure(set, first, last);
    mtlm_indexed_dataset_close(set);
    return entropy;
}

/* p ln 1/p */
static double part(double p)
{
    return -p * log(p);
}

static void test_entropies_are_the_closed_forms(void **state)
{
    const struct {
        const char *text[MAX_DOCUMENTS];
        int64_t documents;
        double unigram, bigram;
        int64_t bytes, pairs;
    } cases[] = {
        /* one byte: nothing to guess */
        {{"aaaa"}, 1, 0, 0, 4, 3},
        /* each byte tells the next */
        {{"abababab"}, 1, log(2), 0, 8, 7},
        /* all pairs of two once: the byte before tells nothing */
        {{"aabba"}, 1, part(.6) + part(.4), log(2), 5, 4},
        {{"aaab"}, 1, part(.75) + part(.25), part(2. / 3) + part(1. / 3), 4, 3},
        /* pairs do not reach over the end of a document */
        {{"ab", "ab", "ab"}, 3, log(2), 0, 6, 3},
        {{"a", "b"}, 2, log(2), 0, 2, 0},
        {{"", "ab"}, 2, log(2), 0, 2, 1},
        /* contexts weigh as often as they occur: a -> a, b; b -> b, b, b */
        {{"aab", "bbbb"},
         2,
         part(2. / 7) + part(5. / 7),
         2. / 5 * log(2),
         7,
         5},
        /* bytes from 128 up */
        {{"\xff\x80\xff\x80"}, 1, log(2), 0, 4, 3},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int eod = 0; eod < 2; eod++) {
            const struct mtlm_entropy got = measure(
                cases[i].text, cases[i].documents, 0, cases[i].documents, eod);

            assert_true(fabs(got.unigram - cases[i].unigram) < 1e-14);
            assert_true(fabs(got.bigram - cases[i].bigram) < 1e-14);
            assert_int_equal(got.bytes, cases[i].bytes);
            assert_int_equal(got.pairs, cases[i].pairs);
        }
}

static void test_only_the_documents_asked_for_count(void **state)
{
    const char *const text[] = {"zzzz", "abab", "cdcdcd", "q"};
    struct mtlm_entropy got = measure(text, 4, 1, 2, 1);

    (void) state;
    assert_true(fabs(got.unigram - log(2)) < 1e-14);
    assert_int_equal(got.bytes, 4);
    got = measure(text, 4, 2, 2, 1);
    assert_int_equal(got.bytes, 0);
    assert_true(got.unigram == 0 && got.bigram == 0);
}

/* Longer than the piece in which documents are read. */
static void test_pairs_are_not_lost_in_long_documents(void **state)
{
    struct mtlm_indexed_writer *writer =
        mtlm_indexed_writer_create(files_path("long"), 257, NULL);
    struct mtlm_indexed_dataset *set;
    struct mtlm_entropy got;

    (void) state;
    for (int32_t i = 0, token; i < 10000; i++) {
        token = i % 2;
        mtlm_indexed_writer_add(writer, &token, 1, NULL);
    }
    mtlm_indexed_writer_end_document(writer);
    assert_int_equal(mtlm_indexed_writer_commit(writer, NULL), 0);
    mtlm_indexed_writer_destroy(writer);
    set = mtlm_indexed_dataset_open(files_path("long"), 257, NULL);
    got = mtlm_entropy_measure(set, 0, 1);
    mtlm_indexed_dataset_close(set);
    assert_int_equal(got.bytes, 10000);
    assert_int_equal(got.pairs, 9999);
    assert_true(fabs(got.unigram - log(2)) < 1e-14);
    assert_true(got.bigram == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entropies_are_the_closed_forms),
        cmocka_unit_test(test_only_the_documents_asked_for_count),
        cmocka_unit_test(test_pairs_are_not_lost_in_long_documents),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
