/* The input of the model: word and position embeddings, and initial values. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/codelets/support.h"

enum { S = 9, B = 3, H = 13, V = 20, N = S * B * H };

static struct mtlm_call embedding(int64_t first, int64_t rows)
{
    return (struct mtlm_call){.kind = MTLM_OP_EMBEDDING_FWD,
                              .attr.vocabulary = {.first = first, .size = V},
                              .shape = {MTLM_SHAPE(S, B), MTLM_SHAPE(rows, H)}};
}

static void test_shards_of_the_vocabulary_add_up_to_the_whole(void **state)
{
    int32_t *tokens = new_tokens(S * B, V, 1);
    mtlm_real *word = new_normal(V * H, 2);
    mtlm_real *whole = new_undefined(N), *low = new_undefined(N);
    mtlm_real *high = new_undefined(N);

    (void) state;
    run_op(embedding(0, V), (void *[]){tokens, word, whole}, 0);
    run_op(embedding(0, V / 2), (void *[]){tokens, word, low}, 0);
    run_op(embedding(V / 2, V / 2), (void *[]){tokens, word + V / 2 * H, high},
           0);
    for (int i = 0; i < N; i++) {
        assert_true(whole[i] == word[tokens[i / H] * H + i % H]);
        assert_true(low[i] + high[i] == whole[i]);
        assert_true(low[i] == 0 || high[i] == 0);
    }
    free(tokens), free(word), free(whole), free(low), free(high);
}

static void test_a_shard_adds_the_gradient_of_its_rows_only(void **state)
{
    enum { FIRST = 6, ROWS = 8 };
    const struct mtlm_call call = {
        .kind = MTLM_OP_EMBEDDING_WGRAD,
        .attr.vocabulary = {.first = FIRST, .size = V},
        .shape = {MTLM_SHAPE(S, B), MTLM_SHAPE(S, B, H), MTLM_SHAPE(ROWS, H)}};
    int32_t *tokens = new_tokens(S * B, V, 1);
    mtlm_real *dy = new_normal(N, 2), *dword = new_normal(ROWS * H, 3);
    double want[ROWS * H];

    (void) state;
    for (int i = 0; i < ROWS * H; i++)
        want[i] = dword[i];
    for (int i = 0; i < N; i++) {
        const int row = tokens[i / H] - FIRST;

        if (row >= 0 && row < ROWS)
            want[row * H + i % H] += dy[i];
    }
    run_op(call, (void *[]){tokens, dy, dword}, 0);
    assert_true(worst_error(dword, want, ROWS * H) < 1e-6);
    free(tokens), free(dy), free(dword);
}

/* Few rows (token types) sum their addends in blocks: one block, a whole number
 * of blocks, and a last block that is not full. */
static void test_tables_of_few_rows_add_all_blocks(void **state)
{
    enum { ROWS = 2, FIRST = 1, BLOCK = 32, MANY = 3 * BLOCK };
    static const int counts[] = {1, BLOCK - 1, BLOCK, 2 * BLOCK, MANY - 5};
    int32_t *tokens = new_tokens(MANY, ROWS + 2, 1);
    mtlm_real *dy = new_normal(MANY * H, 2);

    (void) state;
    tokens[0] = FIRST;
    for (int k = 0; k < 5; k++) {
        const int n = counts[k];
        const struct mtlm_call call = {
            .kind = MTLM_OP_EMBEDDING_WGRAD,
            .attr.vocabulary = {.first = FIRST, .size = ROWS + 2},
            .shape = {MTLM_SHAPE(n, 1), MTLM_SHAPE(n, 1, H),
                      MTLM_SHAPE(ROWS, H)}};
        mtlm_real *dword = new_normal(ROWS * H, 3);
        double want[ROWS * H];

        for (int i = 0; i < ROWS * H; i++)
            want[i] = dword[i];
        for (int i = 0; i < n * H; i++) {
            const int row = tokens[i / H] - FIRST;

            if (row >= 0 && row < ROWS)
                want[row * H + i % H] += dy[i];
        }
        run_op(call, (void *[]){tokens, dy, dword}, 0);
        assert_true(worst_error(dword, want, ROWS * H) < 1e-6);
        free(dword);
    }
    free(tokens), free(dy);
}

static void test_positions_beyond_the_sequence_keep_their_gradient(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_POSITION_DROPOUT_BWD,
        .shape = {MTLM_SHAPE(S, B, H), {0}, MTLM_SHAPE(S + 2, H)}};
    mtlm_real *dy = new_normal(N, 1), *dx = new_undefined(N);
    mtlm_real *dpos = new_normal((S + 2) * H, 2);
    mtlm_real *before = new_normal((S + 2) * H, 2);

    (void) state;
    run_op(call, (void *[]){dy, dx, dpos}, 0);
    assert_memory_equal(dx, dy, N * sizeof(*dx));
    for (int i = 0; i < (S + 2) * H; i++)
        assert_true((dpos[i] == before[i]) == (i >= S * H));
    free(dy), free(dx), free(dpos), free(before);
}

static void test_too_few_positions_are_refused(void **state)
{
    (void) state;
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_POSITION_DROPOUT_FWD,
                           .shape = {MTLM_SHAPE(S, B, H), MTLM_SHAPE(8, H)}},
        "position_dropout_fwd: position is [8, 13], needs [9, 13]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_POSITION_DROPOUT_FWD,
                           .attr.dropout.first_row = 4,
                           .shape = {MTLM_SHAPE(S, B, H), MTLM_SHAPE(12, H)}},
        "position_dropout_fwd: position is [12, 13], needs [13, 13]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_EMBEDDING_WGRAD,
                           .shape = {MTLM_SHAPE(S, B), MTLM_SHAPE(S, B, H),
                                     MTLM_SHAPE(V, 12)}},
        "embedding_wgrad: dy is [9, 3, 13], needs [9, 3, 12]");
}

/* A 30 x 26 tensor: rows 7 .. 16 and columns 3 .. 15 of it. */
static void test_a_shard_is_filled_as_that_part_of_the_whole(void **state)
{
    enum { ROWS = 30, COLS = 26, R = 10, C = 13, R0 = 7, C0 = 3, PIECE = 47 };
    struct mtlm_call call = {.kind = MTLM_OP_FILL,
                             .attr.fill = {.mean = 1,
                                           .std = 0.02,
                                           .seed = 5,
                                           .param = 12,
                                           .full_cols = COLS},
                             .shape = {MTLM_SHAPE(ROWS, COLS)}};
    mtlm_real *whole = new_undefined(ROWS * COLS), *part = new_undefined(R * C);
    mtlm_real piece[PIECE];

    (void) state;
    run_op(call, (void *[]){whole}, 0);
    call.attr.fill.first_row = R0;
    call.attr.fill.first_col = C0;
    call.shape[0] = MTLM_SHAPE(R, C);
    run_op(call, (void *[]){part}, 0);
    for (int r = 0; r < R; r++)
        assert_memory_equal(part + r * C, whole + (R0 + r) * COLS + C0,
                            C * sizeof(*part));
    /* A piece that begins and ends within rows. */
    call.attr.fill.first = 17;
    call.attr.fill.cols = C;
    call.shape[0] = MTLM_SHAPE(PIECE);
    run_op(call, (void *[]){piece}, 0);
    assert_memory_equal(piece, part + 17, sizeof(piece));
    free(whole), free(part);
}

/* Moments of 2^18 values, each within 5 standard errors. */
static void test_filled_values_are_normal(void **state)
{
    enum { COUNT = 1 << 18 };
    const struct mtlm_call call = {.kind = MTLM_OP_FILL,
                                   .attr.fill = {.mean = 0.5,
                                                 .std = 2,
                                                 .seed = 5,
                                                 .param = 1,
                                                 .full_cols = COUNT},
                                   .shape = {MTLM_SHAPE(COUNT)}};
    mtlm_real *x = new_undefined(COUNT);
    double moment[5] = {0}, within = 0, pairs = 0;

    (void) state;
    run_op(call, (void *[]){x}, 0);
    for (int i = 0; i < COUNT; i++) {
        const double z = (x[i] - 0.5) / 2;

        for (int m = 1; m <= 4; m++)
            moment[m] += pow(z, m) / COUNT;
        within += fabs(z) < 1;
        pairs += z * (x[i ^ 1] - 0.5) / 2 / COUNT;
    }
    assert_true(fabs(moment[1]) < 5 / sqrt(COUNT));
    assert_true(fabs(moment[2] - 1) < 5 * sqrt(2. / COUNT));
    assert_true(fabs(moment[3]) < 5 * sqrt(15. / COUNT));
    assert_true(fabs(moment[4] - 3) < 5 * sqrt(96. / COUNT));
    assert_true(fabs(within / COUNT - 0.682689) < 5 * 0.4655 / sqrt(COUNT));
    assert_true(fabs(pairs) < 5 * sqrt(2. / COUNT));
    free(x);
}

static void test_without_deviation_all_is_the_mean(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_FILL, .attr.fill.mean = 1, .shape = {MTLM_SHAPE(37)}};
    mtlm_real x[37];

    (void) state;
    run_op(call, (void *[]){x}, 0);
    for (int i = 0; i < 37; i++)
        assert_true(x[i] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_of_the_vocabulary_add_up_to_the_whole),
        cmocka_unit_test(test_a_shard_adds_the_gradient_of_its_rows_only),
        cmocka_unit_test(test_tables_of_few_rows_add_all_blocks),
        cmocka_unit_test(
            test_positions_beyond_the_sequence_keep_their_gradient),
        cmocka_unit_test(test_too_few_positions_are_refused),
        cmocka_unit_test(test_a_shard_is_filled_as_that_part_of_the_whole),
        cmocka_unit_test(test_filled_values_are_normal),
        cmocka_unit_test(test_without_deviation_all_is_the_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
