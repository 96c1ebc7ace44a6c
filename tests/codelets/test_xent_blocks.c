/* Cross-entropy over rows of many columns, which kernels read in blocks. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "runtime/base/value16.h"
#include "tests/codelets/bf16_values.h"
#include "tests/codelets/support.h"

/* Of the loss: its gradient is that much greater. */
#define SCALE 1024

/* 50000 logits: a sum in single precision alone would lose digits.  They rise,
 * so that every block brings a greater maximum, from `first` on. */
static void check_long_row(mtlm_real first)
{
    enum { LONG = 50000 };
    struct mtlm_call call = {
        .kind = MTLM_OP_XENT_STATS,
        .attr.vocabulary.size = LONG,
        .shape = {MTLM_SHAPE(1, 1, LONG), MTLM_SHAPE(1, 1)}};
    mtlm_real *logits = new_normal(LONG, 1), max = -INFINITY;
    mtlm_real local, got, sums[2];
    int32_t label = 7;
    double want = 0;

    for (int i = 0; i < LONG; i++) {
        logits[i] += first + 2e-4f * i;
        max = fmax(max, logits[i]);
    }
    for (int i = 0; i < LONG; i++)
        want += exp((double) logits[i] - max);
    run_op(call, (void *[]){logits, &label, &local, &got, sums}, 0);
    assert_true(got == max && local == max);
    assert_true(fabs(sums[0] / want - 1) < 4e-7);
    assert_true(sums[1] == logits[7]);
    free(logits);
}

/* Great logits, too, of which only differences count. */
static void test_long_rows_keep_their_digits(void **state)
{
    (void) state;
    check_long_row(0);
    check_long_row(1000);
    check_long_row(-1000);
}

/* Two rows of v tokens and some padding, which would win the maximum if it
 * counted.  The second row's label is the last token. */
struct wide {
    int64_t v, cols;
    mtlm_real *logits; /* [2, cols], numbers of bf16 */
    uint16_t *logits16;
    int32_t labels[2];
    mtlm_real local[2], max[2], sums[4];
};

static struct wide new_wide(int64_t v)
{
    struct wide w = {.v = v, .cols = v + 70, .labels = {3, v - 1}};

    w.logits16 = new_bf16(2 * w.cols, v, &w.logits);
    for (int64_t i = 0; i < 2 * w.cols; i++)
        if (i % w.cols >= v)
            w.logits[i] = 100;
    mtlm_value16_round(MTLM_BF16, w.logits, 2 * w.cols, w.logits16);
    return w;
}

static void check_wide_stats(struct wide *w, enum mtlm_dtype type)
{
    void *logits = type == MTLM_BF16 ? (void *) w->logits16 : w->logits;

    run_op((struct mtlm_call){.kind = MTLM_OP_XENT_STATS,
                              .value = type,
                              .attr.vocabulary.size = w->v,
                              .shape = {MTLM_SHAPE(2, 1, w->cols),
                                        MTLM_SHAPE(2, 1)}},
           (void *[]){logits, w->labels, w->local, w->max, w->sums}, 0);
    for (int r = 0; r < 2; r++) {
        const mtlm_real *row = w->logits + r * w->cols;
        double max = -INFINITY, sum = 0;

        for (int64_t c = 0; c < w->v; c++)
            max = fmax(max, row[c]);
        for (int64_t c = 0; c < w->v; c++)
            sum += exp((double) row[c] - max);
        assert_true(w->max[r] == max && w->local[r] == max);
        assert_true(fabs(w->sums[r] / sum - 1) < 4e-7);
        assert_true(w->sums[2 + r] == row[w->labels[r]]);
    }
}

/* Gradients replace the logits: of the type's own precision. */
static void check_wide_gradients(struct wide *w, enum mtlm_dtype type)
{
    mtlm_real *got = new_undefined(2 * w->cols), weights[2] = {1, 1};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LOSS_SCALE] = SCALE};

    memcpy(got, w->logits, 2 * w->cols * sizeof(*got));
    run_op((struct mtlm_call){.kind = MTLM_OP_XENT_BWD,
                              .value = type,
                              .attr.vocabulary.size = w->v,
                              .shape = {MTLM_SHAPE(2, 1), MTLM_SHAPE(2, 1),
                                        MTLM_SHAPE(2, 2, 1), MTLM_SHAPE(2, 1),
                                        MTLM_SHAPE(MTLM_CONTROL_COUNT),
                                        MTLM_SHAPE(2, 1, w->cols)}},
           (void *[]){w->labels, w->max, w->sums, weights, control,
                      type == MTLM_BF16 ? (void *) w->logits16 : got},
           0);
    if (type == MTLM_BF16)
        mtlm_value16_widen(type, w->logits16, 2 * w->cols, got);
    for (int64_t i = 0; i < 2 * w->cols; i++) {
        const int r = i / w->cols;
        const int64_t c = i % w->cols;
        const double p = exp((double) w->logits[i] - w->max[r]) / w->sums[r];
        const double want =
            c < w->v ? SCALE * RUN_SHARE * (p - (c == w->labels[r])) : 0;

        assert_true(fabs(got[i] - want)
                    <= fabs(want) * (type == MTLM_BF16 ? 0x1p-8 : 2e-6));
    }
    free(got);
}

/* Kernels read blocks of columns: sizes around one and two blocks. */
static void test_blocks_of_columns(void **state)
{
    static const int64_t sizes[] = {70, 2047, 2048, 2049, 4095, 4096, 5000};

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct wide w = new_wide(sizes[i]);

        check_wide_stats(&w, MTLM_REAL);
        check_wide_gradients(&w, MTLM_REAL);
        check_wide_stats(&w, MTLM_BF16);
        check_wide_gradients(&w, MTLM_BF16);
        free(w.logits), free(w.logits16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_rows_keep_their_digits),
        cmocka_unit_test(test_blocks_of_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
