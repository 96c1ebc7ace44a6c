/* Blends: the order of samples is Megatron's, wherever the reading begins;
 * lists of data sets with and without weights. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/text/blend.h"
#include "models/text/blend_list.h"
#include "tests/models/files.h"

/* A source whose tokens are its number and the sample's. */
struct numbered {
    struct mtlm_samples samples;
    int number;
};

static int destroyed;

static void read_numbered(struct mtlm_samples *samples, int64_t sample,
                          enum mtlm_field field, int64_t first, int64_t n,
                          int32_t *values)
{
    (void) field, (void) first;
    assert_int_equal(n, 2);
    values[0] = ((struct numbered *) samples)->number;
    values[1] = (int32_t) sample;
}

static void destroy_numbered(struct mtlm_samples *samples)
{
    free(samples);
    destroyed++;
}

static struct mtlm_samples *blend_of(const double *weight, int n)
{
    struct mtlm_samples *source[8];

    for (int i = 0; i < n; i++) {
        struct numbered *s = calloc(1, sizeof(*s));

        *s = (struct numbered){{.seq_length = 2,
                                .epoch = 10,
                                .read = read_numbered,
                                .destroy = destroy_numbered},
                               i};
        source[i] = &s->samples;
    }
    return mtlm_blend_create(source, weight, n);
}

static void expect(struct mtlm_samples *blend, int64_t sample, int source,
                   int64_t number)
{
    int32_t value[2];

    mtlm_samples_read(blend, sample, MTLM_FIELD_TOKENS, 0, 2, value);
    if (value[0] != source || value[1] != number)
        fail_msg("sample %d: %d of source %d, expected %d of %d", (int) sample,
                 value[1], value[0], (int) number, source);
}

/* Computed in Python from the rule of Megatron's build_blending_indices.  The
 * last two differ where compilers fuse the rule's product with its sum. */
static void test_the_order_is_megatrons(void **state)
{
    static const double two[] = {0.7, 0.3}, three[] = {30, 30, 60};
    static const double few[] = {0.1, 0.9}, tied[] = {0.3, 0.3, 0.4};
    static const char *const want[] = {
        "0100100100010010010001001001", "2012021202120212021202120212",
        "1011111111011111111101111111", "2012012012021201201202120120"};
    static const int64_t epoch[] = {20, 30, 20, 30};
    struct mtlm_samples *blend[] = {blend_of(two, 2), blend_of(three, 3),
                                    blend_of(few, 2), blend_of(tied, 3)};

    (void) state;
    for (int b = 0; b < 4; b++) {
        int64_t count[3] = {0};

        for (int i = 0; want[b][i]; i++) {
            const int source = want[b][i] - '0';

            expect(blend[b], i, source, count[source]++);
        }
        assert_int_equal(blend[b]->epoch, epoch[b]);
        mtlm_samples_destroy(blend[b]);
    }
    assert_int_equal(destroyed, 10);
}

enum { FAR = 300000 };

/* What the rule says for samples 0 .. FAR - 1. */
static void write_order(const double *share, int n, uint8_t *source,
                        int32_t *number)
{
    int64_t count[8] = {0};

    for (int64_t i = 0; i < FAR; i++) {
        int best = 0;

        for (int k = 1; k < n; k++)
            if (share[k] * (i ? (double) i : 1) - (double) count[k]
                > share[best] * (i ? (double) i : 1) - (double) count[best])
                best = k;
        source[i] = (uint8_t) best;
        number[i] = (int32_t) count[best]++;
    }
}

static void test_reading_may_begin_anywhere(void **state)
{
    static const double weight[] = {0.125, 0.5, 0.25, 0.125};
    uint8_t *source = calloc(FAR, 1);
    int32_t *number = calloc(FAR, sizeof(*number));
    struct mtlm_samples *blend = blend_of(weight, 4);
    int64_t count[4], counted[4] = {0};

    (void) state;
    write_order(weight, 4, source, number);
    expect(blend, FAR - 1, source[FAR - 1], number[FAR - 1]);
    for (int64_t i = FAR - 1; i >= 0; i -= 977)
        expect(blend, i, source[i], number[i]);
    for (int64_t i = 0; i < FAR; i += 7)
        expect(blend, i, source[i], number[i]);
    for (int64_t i = 0; i < FAR; i++)
        counted[source[i]]++;
    mtlm_blend_count(weight, 4, FAR, count);
    assert_memory_equal(count, counted, sizeof(count));
    mtlm_samples_destroy(blend);
    free(source);
    free(number);
}

static void *read_all(void *arg)
{
    struct mtlm_samples *blend = arg;
    int32_t value[2], sum = 0;

    for (int64_t i = 0; i < FAR; i += 31) {
        mtlm_samples_read(blend, i, MTLM_FIELD_TOKENS, 0, 2, value);
        sum = sum * 31 + value[0] + 7 * value[1];
    }
    return (void *) (intptr_t) sum;
}

static void test_threads_read_the_same(void **state)
{
    static const double weight[] = {2, 1};
    struct mtlm_samples *blend = blend_of(weight, 2);
    void *alone = read_all(blend);
    pthread_t thread[4];

    (void) state;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, read_all, blend);
    for (int i = 0; i < 4; i++) {
        void *sum;

        pthread_join(thread[i], &sum);
        assert_ptr_equal(sum, alone);
    }
    mtlm_samples_destroy(blend);
}

static void reads(const char *text, const char *want)
{
    struct mtlm_blend_list list;
    char got[256] = "";

    assert_int_equal(mtlm_blend_list_parse(text, "--data-path", &list, NULL),
                     0);
    for (int i = 0; i < list.n; i++) {
        char *end = got + strlen(got);

        sprintf(end, "%s(", i ? " " : "");
        if (list.weight)
            sprintf(end + strlen(end), "%g ", list.weight[i]);
        sprintf(end + strlen(end), "%s)", list.prefix[i]);
    }
    assert_string_equal(got, want);
    mtlm_blend_list_free(&list);
}

static void refuses(const char *text, const char *sentence)
{
    struct mtlm_blend_list list;
    struct mtlm_error err;

    assert_int_equal(mtlm_blend_list_parse(text, "--data-path", &list, &err),
                     -1);
    assert_string_equal(err.text, sentence);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
}

static void test_lists_are_read_as_in_megatron(void **state)
{
    static const int64_t length[] = {5};
    char text[256], want[260];

    (void) state;
    reads("a", "(a)");
    reads(" a  b\nc ", "(a) (b) (c)");
    reads("a b", "(a) (b)");
    reads("0.7 a 30 b", "(0.7 a) (30 b)");
    reads("1 a", "(1 a)");
    files_write_numbered("with blanks", length, 1, 60);
    snprintf(text, sizeof(text), "%s", files_path("with blanks"));
    snprintf(want, sizeof(want), "(%s)", text);
    reads(text, want);
    files_write("list of one", "", 0);
    snprintf(text, sizeof(text), "%s", files_path("list of one"));
    snprintf(want, sizeof(want), "(%s)", text);
    reads(text, want);
    refuses(" ", "--data-path names no data set");
    refuses("0.7 a x b", "--data-path: the weight of b is 'x', it must be a "
                         "number above 0");
    refuses("0.7 a -1 b", "--data-path: the weight of b is '-1', it must be a "
                          "number above 0");
    refuses("1 a 0 b", "--data-path: the weight of b is '0', it must be a "
                       "number above 0");
    refuses("0.7 a 0.3", "--data-path: '0.7' stands where a prefix is "
                         "expected; give WEIGHT PREFIX pairs, or prefixes "
                         "alone");
    refuses("0.7 0.3 a b", "--data-path: '0.3' stands where a prefix is "
                           "expected; give WEIGHT PREFIX pairs, or prefixes "
                           "alone");
}

static void test_paths_become_absolute(void **state)
{
    char *here = get_current_dir_name(), want[4096], *got;

    (void) state;
    snprintf(want, sizeof(want), "0.7 %s/a 0.3 /b", here);
    got = mtlm_blend_list_absolute("0.7 a 0.3 /b");
    assert_string_equal(got, want);
    free(got);
    snprintf(want, sizeof(want), "%s/7", here);
    got = mtlm_blend_list_absolute("7");
    assert_string_equal(got, want);
    free(got);
    free(here);
}

/* In a directory whose name has a blank, which would end a word. */
static void test_a_list_has_no_paths_with_blanks(void **state)
{
    char *here = get_current_dir_name(), *there, want[4096], *got;

    (void) state;
    assert_int_equal(mkdir(files_path("a directory"), 0777), 0);
    files_write("a directory/x", "", 0);
    assert_int_equal(chdir(files_path("a directory")), 0);
    there = get_current_dir_name();
    assert_null(mtlm_blend_list_absolute("0.7 x 0.3 y"));
    assert_null(mtlm_blend_list_absolute("nothing"));
    snprintf(want, sizeof(want), "%s/x", there);
    got = mtlm_blend_list_absolute("x");
    assert_string_equal(got, want);
    free(got);
    assert_int_equal(chdir(here), 0);
    free(there);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_is_megatrons),
        cmocka_unit_test(test_reading_may_begin_anywhere),
        cmocka_unit_test(test_threads_read_the_same),
        cmocka_unit_test(test_lists_are_read_as_in_megatron),
        cmocka_unit_test(test_paths_become_absolute),
        cmocka_unit_test(test_a_list_has_no_paths_with_blanks),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
