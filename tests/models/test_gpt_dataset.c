/* Samples of a GPT: order, overlap, epochs, splits. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/gpt_dataset.h"
#include "models/text/split.h"
#include "tests/models/causal.h"
#include "tests/models/files.h"

/* 199 numbered tokens, so that a token tells where it comes from; 199 and S
 * have no common divisor, so that S epochs are 199 samples exactly. */
enum { DOCUMENTS = 9, TOKENS = 199, S = 16, SAMPLES = TOKENS };
static const int64_t length[DOCUMENTS] = {20, 1, 50, 0, 7, 60, 0, 30, 31};

struct fixture {
    struct mtlm_indexed_dataset *set;
    struct mtlm_samples *samples;
};

static struct mtlm_samples *create(struct mtlm_indexed_dataset *set,
                                   uint64_t seed)
{
    struct mtlm_samples *samples =
        mtlm_gpt_dataset_create(set, 0, DOCUMENTS, S, seed, -1, NULL);

    assert_non_null(samples);
    return samples;
}

static int setup(void **state)
{
    static struct fixture f;

    files_setup(NULL);
    files_write_numbered("gpt", length, DOCUMENTS, TOKENS);
    f.set = mtlm_indexed_dataset_open(files_path("gpt"), TOKENS, NULL);
    f.samples = create(f.set, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    mtlm_samples_destroy(f->samples);
    mtlm_samples_destroy(NULL);
    mtlm_indexed_dataset_close(f->set);
    return files_teardown(NULL);
}

static void read_whole(struct mtlm_samples *samples, int64_t sample,
                       int32_t tokens[S + 1])
{
    read_text(samples, sample, 0, S + 1, tokens);
}

/* Document of a token, and whether the token ends it. */
static int document_of(int32_t token, int *ends)
{
    int64_t end = 0;
    int d = 0;

    while ((end += length[d]) <= token)
        d++;
    *ends = token == end - 1;
    return d;
}

static void test_inside_documents_the_text_goes_on(void **state)
{
    struct fixture *f = *state;

    for (int64_t n = 0; n < SAMPLES; n++) {
        int32_t tokens[S + 1];

        read_whole(f->samples, n, tokens);
        for (int i = 0; i < S; i++) {
            int ends, begins;

            document_of(tokens[i], &ends);
            if (!ends) {
                assert_int_equal(tokens[i + 1], tokens[i] + 1);
            } else if (tokens[i + 1] > 0) {
                document_of(tokens[i + 1] - 1, &begins);
                assert_true(begins);
            }
        }
    }
}

/* S epochs are as many tokens as SAMPLES samples have inputs. */
static void test_each_token_is_an_input_once_per_epoch(void **state)
{
    struct fixture *f = *state;
    int count[TOKENS] = {0};

    for (int64_t n = 0; n < SAMPLES; n++) {
        int32_t tokens[S + 1];

        read_whole(f->samples, n, tokens);
        for (int i = 0; i < S; i++)
            count[tokens[i]]++;
    }
    for (int i = 0; i < TOKENS; i++)
        assert_int_equal(count[i], S);
}

/* The first sample that begins in an epoch. */
static int64_t first_sample(int64_t epoch)
{
    return (epoch * TOKENS + S - 1) / S;
}

/* Put in their places by their overlap, the samples of an epoch are one
 * stream: the last token of each is the first of exactly one other, but for
 * the last, which reaches into the next epoch. */
static void test_each_piece_of_an_epoch_comes_once_and_overlaps_by_one(
    void **state)
{
    struct fixture *f = *state;

    for (int64_t epoch = 0; epoch < 20; epoch++) {
        const int64_t first = first_sample(epoch);
        const int64_t n = first_sample(epoch + 1) - first;
        int begins[TOKENS] = {0}, unfollowed = 0;

        assert_in_range(n, TOKENS / S, TOKENS / S + 1);
        for (int64_t i = 0; i < n; i++) {
            int32_t tokens[S + 1];

            read_whole(f->samples, first + i, tokens);
            begins[tokens[0]]++;
        }
        for (int64_t i = 0; i < n; i++) {
            int32_t tokens[S + 1];

            read_whole(f->samples, first + i, tokens);
            assert_int_equal(begins[tokens[0]], 1);
            unfollowed += begins[tokens[S]] == 0;
        }
        assert_in_range(unfollowed, 0, 1);
    }
}

static void test_epochs_and_seeds_differ(void **state)
{
    struct fixture *f = *state;
    struct mtlm_samples *other = create(f->set, 2);
    int same_epoch = 0, same_seed = 0;

    for (int64_t n = 0; n < SAMPLES; n++) {
        int32_t here[S + 1], next[S + 1], seed[S + 1];

        read_whole(f->samples, n, here);
        read_whole(f->samples, n + SAMPLES, next);
        read_whole(other, n, seed);
        same_epoch += memcmp(here, next, sizeof(here)) == 0;
        same_seed += memcmp(here, seed, sizeof(here)) == 0;
    }
    assert_true(same_epoch < SAMPLES / 10);
    assert_true(same_seed < SAMPLES / 10);
    mtlm_samples_destroy(other);
}

/* What follows document 2, which ends with token 70, is now one document, now
 * another. */
static void test_each_epoch_has_its_own_order_of_documents(void **state)
{
    struct fixture *f = *state;
    unsigned char follows[TOKENS] = {0};
    int different = 0;

    for (int64_t n = 0; n < 2 * SAMPLES; n++) {
        int32_t tokens[S + 1];

        read_whole(f->samples, n, tokens);
        for (int i = 0; i < S; i++)
            if (tokens[i] == 70)
                follows[tokens[i + 1]] = 1;
    }
    for (int i = 0; i < TOKENS; i++)
        different += follows[i];
    assert_in_range(different, 4, DOCUMENTS);
}

/* Document 5 alone, whose 60 tokens are 4 pieces of 15: the pieces are the
 * same in each epoch, their order is not. */
static void test_each_epoch_has_its_own_order_of_samples(void **state)
{
    struct fixture *f = *state;
    struct mtlm_samples *samples =
        mtlm_gpt_dataset_create(f->set, 5, 6, 15, 1, -1, NULL);
    unsigned char seen[256] = {0};
    int different = 0;

    assert_non_null(samples);
    for (int64_t epoch = 0; epoch < 50; epoch++) {
        int order = 0;

        for (int64_t i = 0; i < 4; i++) {
            int32_t token;

            read_text(samples, 4 * epoch + i, 0, 1, &token);
            assert_int_equal((token - 78) % 15, 0);
            order = 4 * order + (token - 78) / 15;
        }
        different += !seen[order];
        seen[order] = 1;
    }
    assert_in_range(different, 15, 24);
    mtlm_samples_destroy(samples);
}

/* Neighbours in number are not neighbours in the text. */
static void test_samples_are_shuffled(void **state)
{
    struct fixture *f = *state;
    int neighbours = 0;
    int32_t last = -1;

    for (int64_t n = 0; n < SAMPLES; n++) {
        int32_t tokens[S + 1];

        read_whole(f->samples, n, tokens);
        neighbours += tokens[0] == last;
        last = tokens[S];
    }
    assert_in_range(neighbours, 0, SAMPLES / 4);
}

/* A label is the next token, whoever asks for which part of the fields. */
static void test_fields_are_those_of_plain_text(void **state)
{
    struct fixture *f = *state;

    for (int64_t n = 0; n < SAMPLES; n++) {
        int32_t tokens[S + 1], value[S];

        read_whole(f->samples, n, tokens);
        mtlm_samples_read(f->samples, n, MTLM_FIELD_LABELS, 0, S, value);
        assert_memory_equal(value, tokens + 1, sizeof(value));
        mtlm_samples_read(f->samples, n, MTLM_FIELD_LABELS, 3, 5, value);
        assert_memory_equal(value, tokens + 4, 5 * sizeof(*value));
        mtlm_samples_read(f->samples, n, MTLM_FIELD_LOSS_MASK, 0, S, value);
        for (int i = 0; i < S; i++)
            assert_int_equal(value[i], 1);
        mtlm_samples_read(f->samples, n, MTLM_FIELD_TYPES, 0, S, value);
        for (int i = 0; i < S; i++)
            assert_int_equal(value[i], 0);
        mtlm_samples_read(f->samples, n, MTLM_FIELD_LENGTH, 0, 1, value);
        assert_int_equal(value[0], S);
        mtlm_samples_read(f->samples, n, MTLM_FIELD_ORDER, 0, 1, value);
        assert_int_equal(value[0], 0);
    }
}

/* Token 70 is the last one of document 2. */
static void test_what_follows_an_end_of_document_does_not_count(void **state)
{
    struct fixture *f = *state;
    struct mtlm_samples *samples =
        mtlm_gpt_dataset_create(f->set, 0, DOCUMENTS, S, 1, 70, NULL);
    int not_counted = 0;

    assert_non_null(samples);
    for (int64_t n = 0; n < SAMPLES; n++) {
        int32_t tokens[S], mask[S], part[3];

        mtlm_samples_read(samples, n, MTLM_FIELD_TOKENS, 0, S, tokens);
        mtlm_samples_read(samples, n, MTLM_FIELD_LOSS_MASK, 0, S, mask);
        mtlm_samples_read(samples, n, MTLM_FIELD_LOSS_MASK, 8, 3, part);
        assert_memory_equal(part, mask + 8, sizeof(part));
        for (int i = 0; i < S; i++) {
            assert_int_equal(mask[i], tokens[i] != 70);
            not_counted += !mask[i];
        }
    }
    assert_int_equal(not_counted, S); /* once per epoch */
    mtlm_samples_destroy(samples);
}

static void test_order_depends_on_nothing_but_the_number(void **state)
{
    struct fixture *f = *state;
    struct mtlm_samples *other = create(f->set, 1);

    for (int64_t n = 5 * SAMPLES; n >= 0; n -= 7) {
        int32_t here[S + 1], there[S + 1];

        read_whole(f->samples, n, here);
        read_text(other, n, 0, 0, there);
        read_text(other, n, 5, S + 1 - 5, there + 5);
        read_text(other, n, 0, 5, there);
        assert_memory_equal(here, there, sizeof(here));
    }
    mtlm_samples_destroy(other);
}

static void test_any_number_is_a_sample(void **state)
{
    struct fixture *f = *state;

    for (int64_t n = 1; n < INT64_C(1) << 56; n *= 3) {
        int32_t tokens[S + 1];

        read_whole(f->samples, n, tokens);
        for (int i = 0; i <= S; i++)
            assert_in_range(tokens[i], 0, TOKENS - 1);
    }
}

/* As long as all documents together: each sample reaches over an epoch. */
static void test_one_sample_may_be_a_whole_epoch(void **state)
{
    struct fixture *f = *state;
    struct mtlm_samples *samples =
        mtlm_gpt_dataset_create(f->set, 0, DOCUMENTS, TOKENS - 1, 1, -1, NULL);

    assert_non_null(samples);
    for (int64_t n = 0; n < 1000; n++) {
        int32_t tokens[TOKENS];

        read_text(samples, n, 0, TOKENS, tokens);
        for (int i = 0; i < TOKENS; i++)
            assert_in_range(tokens[i], 0, TOKENS - 1);
    }
    mtlm_samples_destroy(samples);
}

struct reader {
    struct mtlm_samples *samples;
    int64_t start, wrong;
    const int32_t (*want)[S + 1];
};

static void *read_many(void *arg)
{
    struct reader *reader = arg;

    for (int64_t i = 0; i < 4000; i++) {
        const int64_t n = (reader->start + 37 * i) % (4 * SAMPLES);
        int32_t tokens[S + 1];

        read_whole(reader->samples, n, tokens);
        reader->wrong += memcmp(tokens, reader->want[n], sizeof(tokens)) != 0;
    }
    return NULL;
}

/* In orders that make them take each other's epochs away. */
static void test_threads_read_the_same_samples(void **state)
{
    struct fixture *f = *state;
    static int32_t want[4 * SAMPLES][S + 1];
    struct mtlm_samples *other = create(f->set, 1);
    struct reader reader[4];
    pthread_t thread[4];

    for (int64_t n = 0; n < 4 * SAMPLES; n++)
        read_whole(f->samples, n, want[n]);
    for (int i = 0; i < 4; i++) {
        reader[i] = (struct reader){.samples = other,
                                    .start = 101 * i,
                                    .want = (const int32_t(*)[S + 1]) want};
        pthread_create(&thread[i], NULL, read_many, &reader[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(reader[i].wrong, 0);
    }
    mtlm_samples_destroy(other);
}

static void test_splits_share_no_token(void **state)
{
    struct fixture *f = *state;
    int64_t bound[MTLM_SPLITS + 1];
    int owner[TOKENS];

    memset(owner, -1, sizeof(owner));
    assert_int_equal(mtlm_split_parse("4,3,2", DOCUMENTS, bound, NULL), 0);
    for (int split = 0; split < MTLM_SPLITS; split++) {
        struct mtlm_samples *samples = mtlm_gpt_dataset_create(
            f->set, bound[split], bound[split + 1], S, 1, -1, NULL);

        assert_non_null(samples);
        for (int64_t n = 0; n < SAMPLES; n++) {
            int32_t tokens[S + 1];

            read_whole(samples, n, tokens);
            for (int i = 0; i <= S; i++) {
                assert_true(owner[tokens[i]] == -1
                            || owner[tokens[i]] == split);
                owner[tokens[i]] = split;
            }
        }
        mtlm_samples_destroy(samples);
    }
    for (int i = 0; i < TOKENS; i++)
        assert_true(owner[i] >= 0);
}

static void test_too_little_text_is_an_error_with_the_numbers(void **state)
{
    struct fixture *f = *state;
    struct mtlm_error err = {0};

    assert_null(mtlm_gpt_dataset_create(f->set, 1, 3, 51, 1, -1, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, "gpt: 2 documents from number 1 on hold "
                                     "51 tokens, expected at least 52"));
    assert_null(mtlm_gpt_dataset_create(f->set, 9, 9, 1, 1, -1, &err));
    assert_non_null(strstr(err.text, "0 documents"));
    mtlm_samples_destroy(
        mtlm_gpt_dataset_create(f->set, 1, 3, 50, 1, -1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside_documents_the_text_goes_on),
        cmocka_unit_test(test_each_token_is_an_input_once_per_epoch),
        cmocka_unit_test(
            test_each_piece_of_an_epoch_comes_once_and_overlaps_by_one),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_each_epoch_has_its_own_order_of_documents),
        cmocka_unit_test(test_each_epoch_has_its_own_order_of_samples),
        cmocka_unit_test(test_samples_are_shuffled),
        cmocka_unit_test(test_fields_are_those_of_plain_text),
        cmocka_unit_test(test_what_follows_an_end_of_document_does_not_count),
        cmocka_unit_test(test_order_depends_on_nothing_but_the_number),
        cmocka_unit_test(test_any_number_is_a_sample),
        cmocka_unit_test(test_one_sample_may_be_a_whole_epoch),
        cmocka_unit_test(test_threads_read_the_same_samples),
        cmocka_unit_test(test_splits_share_no_token),
        cmocka_unit_test(test_too_little_text_is_an_error_with_the_numbers),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
