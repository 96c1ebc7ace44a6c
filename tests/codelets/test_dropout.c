/* Philox numbers and dropout masks. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/dropout.h"
#include "runtime/base/philox.h"
#include "tests/codelets/support.h"

static const struct mtlm_dropout dropout = {
    .p = 0.3, .seed = 99, .layer = 3, .site = MTLM_SITE_PROJECTION};

/* The vectors published with Random123. */
static void test_philox_gives_the_published_vectors(void **state)
{
    static const uint32_t zeros[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8};
    static const uint32_t ones[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                    0x6d5451fd};
    uint32_t out[4];

    (void) state;
    mtlm_philox(0, 0, 0, out);
    assert_memory_equal(out, zeros, sizeof(out));
    mtlm_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, out);
    assert_memory_equal(out, ones, sizeof(out));
}

/* The 16 bits of an element. */
static uint32_t number_of(int64_t sample, int64_t element)
{
    const uint64_t stream =
        mtlm_philox_dropout_stream(sample, dropout.layer, dropout.site);
    uint32_t word[4];

    mtlm_philox_dropout(dropout.seed, stream, element / 8, word);
    return word[element % 8 / 2] >> 16 * (element % 2) & 0xffff;
}

/* Any start, any length, across the 32-bit limit of the block's number. */
static void test_factors_follow_the_threshold_anywhere(void **state)
{
    static const int64_t starts[] = {0, 1, 2, 3, 7, 8, 1021, (1LL << 35) - 7};
    static const int64_t lengths[] = {1, 2, 5, 127, 128, 129, 1000};
    const uint32_t threshold = mtlm_philox_dropout_threshold(dropout.p);
    const mtlm_real keep = 65536.0 / (65536 - threshold);
    mtlm_real factor[1000];

    (void) state;
    assert_int_equal(threshold, 19661); /* 0.3 x 65536 */
    for (size_t s = 0; s < sizeof(starts) / sizeof(*starts); s++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
            mtlm_dropout_factors(&dropout, 7, starts[s], lengths[l], factor);
            for (int64_t i = 0; i < lengths[l]; i++)
                assert_true(
                    factor[i]
                    == (number_of(7, starts[s] + i) < threshold ? 0 : keep));
        }
}

/* The number dropped is binomial: 5 standard deviations; so is that of
 * neighbours dropped together. */
static void test_as_many_are_dropped_as_the_probability_says(void **state)
{
    static const double p[] = {0.01, 0.1, 0.5, 0.9};
    const int64_t n = 1 << 20;
    mtlm_real *factor = new_undefined(n);

    (void) state;
    for (int i = 0; i < 4; i++) {
        struct mtlm_dropout d = dropout;
        double dropped = 0, pairs = 0, q = p[i] * p[i];

        d.p = p[i];
        mtlm_dropout_factors(&d, i, 0, n, factor);
        for (int64_t e = 0; e < n; e++) {
            dropped += factor[e] == 0;
            pairs += factor[e] == 0 && factor[(e + 1) % n] == 0;
        }
        assert_true(fabs(dropped - n * p[i]) < 5 * sqrt(n * p[i] * (1 - p[i])));
        /* Overlapping pairs: less than three times the variance. */
        assert_true(fabs(pairs - n * q) < 5 * sqrt(3 * n * q * (1 - q)));
    }
    free(factor);
}

static void test_samples_layers_and_sites_have_masks_of_their_own(void **state)
{
    struct mtlm_dropout other[3] = {dropout, dropout, dropout};
    mtlm_real a[512], b[512];

    (void) state;
    other[0].layer++;
    other[1].site = MTLM_SITE_MLP;
    other[2].seed++;
    mtlm_dropout_factors(&dropout, 7, 0, 512, a);
    for (int i = 0; i < 3; i++) {
        mtlm_dropout_factors(&other[i], 7, 0, 512, b);
        assert_memory_not_equal(a, b, sizeof(a));
    }
    mtlm_dropout_factors(&dropout, 8, 0, 512, b);
    assert_memory_not_equal(a, b, sizeof(a));
}

static void test_forward_and_backward_drop_the_same(void **state)
{
    /* A row is more than a part of one (MTLM_DROPOUT_PART). */
    enum { S = 37, B = 3, H = 277, N = S * B * H };
    const struct mtlm_call fwd = {
        .kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD,
        .attr.dropout = dropout,
        .shape = {MTLM_SHAPE(S, B, H), MTLM_SHAPE(H), MTLM_SHAPE(S, B, H)}};
    const struct mtlm_call bwd = {
        .kind = MTLM_OP_BIAS_DROPOUT_ADD_BWD,
        .attr.dropout = dropout,
        .shape = {MTLM_SHAPE(S, B, H), {0}, MTLM_SHAPE(H)}};
    mtlm_real *zeros = new_zeros(N), *ones = new_zeros(N);
    mtlm_real *y = new_undefined(N), *dx = new_undefined(N);
    mtlm_real bias[H] = {0}, dbias[H] = {0}, factor[H];
    int dropped = 0;

    (void) state;
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    run_op(fwd, (void *[]){ones, bias, zeros, y}, 5);
    run_op(bwd, (void *[]){ones, dx, dbias}, 5);
    assert_memory_equal(y, dx, N * sizeof(*y));
    for (int r = 0; r < S * B; r++) {
        mtlm_dropout_factors(&dropout, 5 + r % B, r / B * H, H, factor);
        assert_memory_equal(y + r * H, factor, sizeof(factor));
    }
    for (int i = 0; i < N; i++)
        dropped += y[i] == 0;
    assert_true(dropped > 0 && dropped < N);
    free(zeros), free(ones), free(y), free(dx);
}

/* Two microbatches of one sample drop what one of two does. */
static void test_masks_do_not_depend_on_the_microbatch(void **state)
{
    enum { S = 11, B = 2, H = 270 };
    struct mtlm_call call = {.kind = MTLM_OP_POSITION_DROPOUT_FWD,
                             .attr.dropout = dropout,
                             .shape = {MTLM_SHAPE(S, B, H), MTLM_SHAPE(S, H)}};
    mtlm_real *x = new_normal(S * B * H, 1), *pos = new_normal(S * H, 2);
    mtlm_real *y = new_undefined(S * B * H);

    (void) state;
    run_op(call, (void *[]){x, pos, y}, 8);
    call.shape[0] = MTLM_SHAPE(S, 1, H);
    for (int j = 0; j < B; j++) {
        mtlm_real one[S * H], out[S * H];

        for (int s = 0; s < S; s++)
            memcpy(one + s * H, x + (s * B + j) * H, sizeof(*x) * H);
        run_op(call, (void *[]){one, pos, out}, 8 + j);
        for (int s = 0; s < S; s++)
            assert_memory_equal(out + s * H, y + (s * B + j) * H,
                                sizeof(*x) * H);
    }
    free(x), free(pos), free(y);
}

/* The rows of a sample in two calls, cut anywhere. */
static void test_masks_do_not_depend_on_how_a_sample_is_cut(void **state)
{
    enum { S = 11, B = 2, H = 270, ROW = B * H, N = S * ROW };
    struct mtlm_call add = {.kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD,
                            .attr.dropout = dropout};
    struct mtlm_call back = {.kind = MTLM_OP_BIAS_DROPOUT_ADD_BWD,
                             .attr.dropout = dropout};
    struct mtlm_call pos = {.kind = MTLM_OP_POSITION_DROPOUT_FWD,
                            .attr.dropout = dropout};
    struct mtlm_call pos_back = {.kind = MTLM_OP_POSITION_DROPOUT_BWD,
                                 .attr.dropout = dropout};
    mtlm_real *x = new_normal(N, 1), *residual = new_normal(N, 2);
    mtlm_real *table = new_normal(S * H, 3), bias[H] = {1};
    mtlm_real *out[2][4], *dtable[2], dbias[H] = {0};

    (void) state;
    add.shape[1] = back.shape[2] = MTLM_SHAPE(H);
    pos.shape[1] = pos_back.shape[2] = MTLM_SHAPE(S, H);
    for (int parts = 0; parts < 2; parts++) {
        dtable[parts] = new_zeros(S * H);
        for (int i = 0; i < 4; i++)
            out[parts][i] = new_undefined(N);
        for (int part = 0; part <= parts; part++) {
            const int first = part ? 4 : 0, end = parts && !part ? 4 : S;
            mtlm_real **y = out[parts];

            add.shape[0] = add.shape[2] = back.shape[0] = pos.shape[0] =
                pos_back.shape[0] = MTLM_SHAPE(end - first, B, H);
            add.attr.dropout.first_row = back.attr.dropout.first_row =
                pos.attr.dropout.first_row = pos_back.attr.dropout.first_row =
                    first;
            run_op(add,
                   (void *[]){x + first * ROW, bias, residual + first * ROW,
                              y[0] + first * ROW},
                   8);
            run_op(back, (void *[]){x + first * ROW, y[1] + first * ROW, dbias},
                   8);
            run_op(pos, (void *[]){x + first * ROW, table, y[2] + first * ROW},
                   8);
            run_op(
                pos_back,
                (void *[]){x + first * ROW, y[3] + first * ROW, dtable[parts]},
                8);
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_memory_equal(out[0][i], out[1][i], N * sizeof(mtlm_real));
        free(out[0][i]), free(out[1][i]);
    }
    assert_memory_equal(dtable[0], dtable[1], S * H * sizeof(mtlm_real));
    free(x), free(residual), free(table), free(dtable[0]), free(dtable[1]);
}

static void test_probability_one_drops_everything(void **state)
{
    struct mtlm_dropout all = dropout;
    mtlm_real factor[500];

    (void) state;
    all.p = 1;
    mtlm_dropout_factors(&all, 0, 0, 500, factor);
    for (int i = 0; i < 500; i++)
        assert_true(factor[i] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_gives_the_published_vectors),
        cmocka_unit_test(test_factors_follow_the_threshold_anywhere),
        cmocka_unit_test(test_as_many_are_dropped_as_the_probability_says),
        cmocka_unit_test(test_samples_layers_and_sites_have_masks_of_their_own),
        cmocka_unit_test(test_forward_and_backward_drop_the_same),
        cmocka_unit_test(test_masks_do_not_depend_on_the_microbatch),
        cmocka_unit_test(test_masks_do_not_depend_on_how_a_sample_is_cut),
        cmocka_unit_test(test_probability_one_drops_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
