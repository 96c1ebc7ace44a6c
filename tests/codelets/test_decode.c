/* Operations that generate text: attention with a cache beside attention of
 * the whole sequence; positions at run time; drawing of tokens. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/codelets/support.h"

enum { S = 75, HEADS = 3, FIRST_HEAD = 2, D = 9, HL = HEADS * D };

/* y [S, HL] of attention without a cache. */
static mtlm_real *attend_whole(mtlm_real *qkv, double coefficient,
                               int alibi_heads)
{
    int32_t length = S;
    mtlm_real *y = new_undefined(S * HL), *lse = new_undefined(HEADS * S);
    const struct mtlm_call call = {
        .kind = MTLM_OP_ATTENTION_FWD,
        .attr.attention = {.heads = HEADS,
                           .causal = true,
                           .first_head = FIRST_HEAD,
                           .seq_length = S,
                           .coefficient = coefficient,
                           .alibi_heads = alibi_heads},
        .shape = {MTLM_SHAPE(S, 1, 3 * HL), MTLM_SHAPE(1, 1)}};

    run_op(call, (void *[]){qkv, &length, y, lse}, 0);
    free(lse);
    return y;
}

/* Runs the rows from `first` on in a chunk of that many rows, n in use. */
static void run_chunk(mtlm_real *qkv, mtlm_real *cache, mtlm_real *y,
                      int64_t first, int64_t chunk, int64_t n,
                      double coefficient, int alibi_heads)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_ATTENTION_CACHED,
        .attr.attention = {.heads = HEADS,
                           .first_head = FIRST_HEAD,
                           .coefficient = coefficient,
                           .alibi_heads = alibi_heads},
        .shape = {MTLM_SHAPE(chunk, 1, 3 * HL), MTLM_SHAPE(S, 2 * HL)}};
    mtlm_real *rows = new_undefined(chunk * 3 * HL);
    mtlm_real *out = new_undefined(chunk * HL);

    memcpy(rows, qkv + first * 3 * HL, n * 3 * HL * sizeof(*rows));
    run_op_at(call, (void *[]){rows, cache, out}, 0, first, n);
    memcpy(y + first * HL, out, n * HL * sizeof(*y));
    for (int64_t i = n * HL; i < chunk * HL; i++)
        assert_true(out[i] == 0);
    free(rows), free(out);
}

/* A prompt in two chunks, the second not full, then position by position. */
static void check_cached(double coefficient, int alibi_heads)
{
    mtlm_real *qkv = new_normal(S * 3 * HL, 5);
    mtlm_real *cache = new_undefined(S * 2 * HL), *y = new_undefined(S * HL);
    mtlm_real *whole = attend_whole(qkv, coefficient, alibi_heads);
    double *want = mtlm_calloc(S * HL, sizeof(*want));

    for (int64_t i = 0; i < S * HL; i++)
        want[i] = whole[i];
    run_chunk(qkv, cache, y, 0, 32, 32, coefficient, alibi_heads);
    run_chunk(qkv, cache, y, 32, 32, 11, coefficient, alibi_heads);
    for (int64_t i = 43; i < S; i++)
        run_chunk(qkv, cache, y, i, 1, 1, coefficient, alibi_heads);
    assert_true(worst_error(y, want, S * HL) < 1e-6);
    free(qkv), free(cache), free(y), free(whole), free(want);
}

static void test_attention_with_a_cache_is_attention(void **state)
{
    (void) state;
    check_cached(1, 0);
    check_cached(4, 0);
    check_cached(4, 6);
}

static void test_a_cache_of_another_width_is_refused(void **state)
{
    (void) state;
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_ATTENTION_CACHED,
                           .attr.attention = {.heads = 2, .coefficient = 1},
                           .shape = {MTLM_SHAPE(4, 1, 24), MTLM_SHAPE(9, 8)}},
        "attention_cached: cache is [9, 8], needs [9, 16]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_ATTENTION_CACHED,
                           .attr.attention = {.heads = 2, .coefficient = 1},
                           .shape = {MTLM_SHAPE(4, 2, 24), MTLM_SHAPE(9, 16)}},
        "attention_cached: qkv is [4, 2, 24], needs [4, 1, 24]");
}

/* y = x weight^T + bias in double. */
static void multiply(const mtlm_real *x, const mtlm_real *weight,
                     const mtlm_real *bias, int64_t n, int64_t k, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = bias ? bias[i] : 0;
        for (int64_t c = 0; c < k; c++)
            y[i] += (double) x[c] * weight[i * k + c];
    }
}

/* One row takes another product of the BLAS than several. */
static void test_a_row_alone_passes_linear_layers(void **state)
{
    enum { N = 301, K = 77 };
    mtlm_real *x = new_normal(K, 1), *weight = new_normal(N * K, 2);
    mtlm_real *bias = new_normal(N, 3), *y = new_undefined(N);
    const struct mtlm_call plain = {
        .kind = MTLM_OP_LINEAR_FWD,
        .shape = {MTLM_SHAPE(1, 1, K), MTLM_SHAPE(N, K)}};
    const struct mtlm_call biased = {
        .kind = MTLM_OP_LINEAR_BIAS_FWD,
        .shape = {MTLM_SHAPE(1, 1, K), MTLM_SHAPE(N, K), MTLM_SHAPE(N)}};
    double want[N];

    (void) state;
    run_op_at(plain, (void *[]){x, weight, y}, 0, 5, 1);
    multiply(x, weight, NULL, N, K, want);
    assert_true(worst_error(y, want, N) < 1e-6);
    memset(y, 0xff, N * sizeof(*y));
    run_op_at(biased, (void *[]){x, weight, bias, y}, 0, 5, 1);
    multiply(x, weight, bias, N, K, want);
    assert_true(worst_error(y, want, N) < 1e-6);
    free(x), free(weight), free(bias), free(y);
}

static void test_the_last_row_in_use_is_taken(void **state)
{
    const struct mtlm_call call = {.kind = MTLM_OP_LAST_ROW,
                                   .shape = {MTLM_SHAPE(4, 1, 2)}};
    mtlm_real x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[2];

    (void) state;
    run_op_at(call, (void *[]){x, y}, 0, 20, 3);
    assert_true(y[0] == 4 && y[1] == 5);
}

/* The rows of the position embedding follow the position; rows that are not in
 * use may lie beyond the last position. */
static void test_positions_come_at_run_time(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_POSITION_DROPOUT_FWD,
        .shape = {MTLM_SHAPE(3, 1, 1), MTLM_SHAPE(5, 1)}};
    mtlm_real x[] = {10, 20, 30}, position[] = {1, 2, 3, 4, 5}, y[3];

    (void) state;
    run_op_at(call, (void *[]){x, position, y}, 0, 1, 3);
    assert_true(y[0] == 12 && y[1] == 23 && y[2] == 34);
    run_op_at(call, (void *[]){x, position, y}, 0, 4, 1);
    assert_true(y[0] == 15 && y[1] == 25 && y[2] == 35);
}

/* ---- drawing ---- */

enum { WORDS = 6, PADDED = 8 };

static const mtlm_real some[PADDED] = {0.5f, 2, -1, 2, 1.5f, 0, 9, 9};

static int32_t sample(double temperature, int64_t top_k, double top_p,
                      uint64_t seed, int64_t sequence, int64_t position)
{
    const struct mtlm_call call = {.kind = MTLM_OP_SAMPLE_TOKEN,
                                   .attr.sampling = {.temperature = temperature,
                                                     .top_k = top_k,
                                                     .top_p = top_p,
                                                     .seed = seed,
                                                     .size = WORDS},
                                   .shape = {MTLM_SHAPE(2, 1, PADDED / 2)}};
    mtlm_real logits[PADDED];
    int32_t token = -1;

    memcpy(logits, some, sizeof(logits));
    run_op_at(call, (void *[]){logits, &token}, sequence, position, 1);
    return token;
}

static void test_greedy_takes_the_first_of_the_greatest(void **state)
{
    (void) state;
    assert_int_equal(sample(0, 0, 1, 3, 0, 0), 1);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(sample(1, 1, 1, 3, 0, i), 1);
        assert_int_equal(sample(1, 0, 1e-6, 3, 0, i), 1);
    }
}

/* Shares of 20000 draws beside the probabilities of the kept tokens. */
static void check_shares(double temperature, int64_t top_k, double top_p,
                         const bool kept[WORDS])
{
    enum { DRAWS = 20000 };
    int count[WORDS] = {0};
    double sum = 0;

    for (int i = 0; i < DRAWS; i++)
        count[sample(temperature, top_k, top_p, 1, 7, i)]++;
    for (int i = 0; i < WORDS; i++)
        sum += kept[i] ? exp(some[i] / temperature) : 0;
    for (int i = 0; i < WORDS; i++) {
        const double p = kept[i] ? exp(some[i] / temperature) / sum : 0;

        assert_true(fabs(count[i] - DRAWS * p)
                    <= 4 * sqrt(DRAWS * p * (1 - p)));
    }
}

static void test_draws_follow_the_probabilities(void **state)
{
    (void) state;
    check_shares(1, 0, 1, (bool[]){1, 1, 1, 1, 1, 1});
    check_shares(0.5, 0, 1, (bool[]){1, 1, 1, 1, 1, 1});
    check_shares(2, 3, 1, (bool[]){0, 1, 0, 1, 1, 0});
    /* Probabilities 0.335, 0.335, 0.203, 0.075, ...: three reach 0.7. */
    check_shares(1, 0, 0.7, (bool[]){0, 1, 0, 1, 1, 0});
    /* Of the greatest three, the shares are 0.384, 0.384, 0.233. */
    check_shares(1, 3, 0.75, (bool[]){0, 1, 0, 1, 0, 0});
}

static void test_a_draw_depends_on_seed_sequence_and_position(void **state)
{
    int other[3] = {0};

    (void) state;
    for (int i = 0; i < 100; i++) {
        const int32_t token = sample(1, 0, 1, 1, 2, i);

        assert_int_equal(sample(1, 0, 1, 1, 2, i), token);
        other[0] += sample(1, 0, 1, 2, 2, i) != token;
        other[1] += sample(1, 0, 1, 1, 3, i) != token;
        other[2] += sample(1, 0, 1, 1, 2, i + 1) != token;
    }
    for (int i = 0; i < 3; i++)
        assert_true(other[i] > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_with_a_cache_is_attention),
        cmocka_unit_test(test_a_cache_of_another_width_is_refused),
        cmocka_unit_test(test_a_row_alone_passes_linear_layers),
        cmocka_unit_test(test_the_last_row_in_use_is_taken),
        cmocka_unit_test(test_positions_come_at_run_time),
        cmocka_unit_test(test_greedy_takes_the_first_of_the_greatest),
        cmocka_unit_test(test_draws_follow_the_probabilities),
        cmocka_unit_test(test_a_draw_depends_on_seed_sequence_and_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
