/* Samples of a BERT depend on their number and the seed, on nothing else: not
 * on what was read before, nor by whom. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/bert_samples.h"

static void test_samples_depend_on_nothing_but_the_number(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_samples *other = bert_create(f->set, &bert_usual);

    for (int64_t n = 400; n >= 0; n -= 7) {
        const struct bert_sample r = bert_read(f->samples, n);
        const struct bert_sample again = bert_read(other, n);

        assert_true(bert_same(&r, &again));
        for (int field = 0; field <= MTLM_FIELD_TYPES; field++) {
            int32_t whole[BERT_S], parts[BERT_S];

            mtlm_samples_read(other, n, field, 0, BERT_S, whole);
            mtlm_samples_read(other, n, field, 20, 0, parts);
            mtlm_samples_read(other, n, field, 20, BERT_S - 20, parts + 20);
            mtlm_samples_read(other, n, field, 0, 20, parts);
            assert_memory_equal(whole, parts, sizeof(whole));
        }
    }
    mtlm_samples_destroy(other);
}

struct reader {
    struct mtlm_samples *samples;
    const struct bert_sample *want;
    int64_t start, n, wrong;
};

static void *read_many(void *arg)
{
    struct reader *reader = arg;

    for (int64_t i = 0; i < 4 * reader->n; i++) {
        const int64_t n = (reader->start + 37 * i) % reader->n;
        const struct bert_sample r = bert_read(reader->samples, n);

        reader->wrong += !bert_same(&r, &reader->want[n]);
    }
    return NULL;
}

static void test_threads_read_the_same_samples(void **state)
{
    enum { N = 500 };
    struct bert_fixture *f = *state;
    static struct bert_sample want[N];
    struct mtlm_samples *other = bert_create(f->set, &bert_usual);
    struct reader reader[4];
    pthread_t thread[4];

    for (int64_t n = 0; n < N; n++)
        want[n] = bert_read(f->samples, n);
    for (int i = 0; i < 4; i++) {
        reader[i] = (struct reader){other, want, 101 * i, N, 0};
        pthread_create(&thread[i], NULL, read_many, &reader[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(reader[i].wrong, 0);
    }
    mtlm_samples_destroy(other);
}

/* Also when it is the same text: pivot, order, cuts and masks differ. */
static void test_epochs_and_seeds_differ(void **state)
{
    struct bert_fixture *f = *state;
    struct mtlm_bert_recipe recipe = bert_usual;
    struct mtlm_samples *samples, *other;
    int same_epoch = 0, same_seed = 0;

    recipe.short_seq_prob = 0;
    samples = bert_create(f->set, &recipe);
    recipe.seed = 2;
    other = bert_create(f->set, &recipe);
    for (int64_t n = 0; n < 1000; n++) {
        const struct bert_sample here = bert_read(samples, n);
        const struct bert_sample next = bert_read(samples, n + BERT_RUNS);
        const struct bert_sample seed = bert_read(other, n);

        same_epoch += bert_same(&here, &next);
        same_seed += bert_same(&here, &seed);
    }
    assert_true(same_epoch < 50);
    assert_true(same_seed < 50);
    mtlm_samples_destroy(other);
    mtlm_samples_destroy(samples);
}

static void test_any_number_is_a_sample(void **state)
{
    struct bert_fixture *f = *state;

    for (int64_t n = 1; n < INT64_C(1) << 43; n *= 3) {
        const struct bert_sample r = bert_read(f->samples, n);

        bert_take_apart(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_depend_on_nothing_but_the_number),
        cmocka_unit_test(test_threads_read_the_same_samples),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_any_number_is_a_sample),
    };

    return cmocka_run_group_tests(tests, bert_setup, bert_teardown);
}
