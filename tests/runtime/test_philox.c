/* Random numbers: the published ones, and streams that do not meet. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/philox.h"

/* Known answers of Philox4x32-10 and Philox4x32-7, published with Random123
 * (kat_vectors). */
static void test_the_numbers_are_the_published_ones(void **state)
{
    static const struct {
        uint64_t seed, stream, block;
        uint32_t ten[4], seven[4];
    } known[] = {
        {0,
         0,
         0,
         {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
         {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
        {UINT64_MAX,
         UINT64_MAX,
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
         {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
         {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint32_t got[4];

        mtlm_philox(known[i].seed, known[i].stream, known[i].block, got);
        assert_memory_equal(got, known[i].ten, sizeof(got));
        mtlm_philox_dropout(known[i].seed, known[i].stream, known[i].block,
                            got);
        assert_memory_equal(got, known[i].seven, sizeof(got));
    }
}

static int by_value(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *) x, b = *(const uint64_t *) y;

    return (a > b) - (a < b);
}

static void test_no_two_streams_are_the_same(void **state)
{
    enum { SAMPLES = 20, LAYERS = 40, SITES = 8, PARAMS = 5000 };
    enum { ALL = SAMPLES * LAYERS * SITES + PARAMS };
    uint64_t *stream = calloc(ALL, sizeof(*stream));
    int n = 0;

    (void) state;
    for (int sample = 0; sample < SAMPLES; sample++)
        for (int layer = -1; layer < LAYERS - 1; layer++)
            for (int site = 0; site < SITES; site++)
                stream[n++] = mtlm_philox_dropout_stream(sample, layer, site);
    for (int number = 0; number < PARAMS; number++)
        stream[n++] = mtlm_philox_param_stream(number);
    qsort(stream, n, sizeof(*stream), by_value);
    for (int i = 1; i < n; i++)
        assert_true(stream[i] != stream[i - 1]);
    free(stream);
}

static void test_as_many_are_dropped_as_asked(void **state)
{
    static const double p[] = {0.1, 0.5, 0.9};
    enum { BLOCKS = 125000 };

    (void) state;
    assert_int_equal(mtlm_philox_dropout_threshold(0), 0);
    assert_int_equal(mtlm_philox_dropout_threshold(0.1), 6554); /* 6553.6 */
    assert_int_equal(mtlm_philox_dropout_threshold(1), 65536);
    for (size_t k = 0; k < sizeof(p) / sizeof(p[0]); k++) {
        const uint32_t threshold = mtlm_philox_dropout_threshold(p[k]);
        double share = 0;

        for (int block = 0; block < BLOCKS; block++) {
            uint32_t out[4];

            mtlm_philox_dropout(1234, mtlm_philox_dropout_stream(7, 3, 1),
                                block, out);
            for (int i = 0; i < 8; i++)
                share += ((out[i / 2] >> 16 * (i % 2) & 0xffff) < threshold)
                         / (8.0 * BLOCKS);
        }
        /* Five standard deviations of a million draws. */
        assert_true(share > p[k] - 0.0025 && share < p[k] + 0.0025);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_numbers_are_the_published_ones),
        cmocka_unit_test(test_no_two_streams_are_the_same),
        cmocka_unit_test(test_as_many_are_dropped_as_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
