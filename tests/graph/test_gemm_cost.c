/* Durations of matrix products, against rows worked out by hand. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codelets/attention/attention.h"
#include "graph/build/program_build.h"
#include "graph/predict/cost.h"
#include "graph/predict/gemm_cost.h"
#include "tests/graph/small.h"

/* 4 multiprocessors; memory costs nothing worth mentioning. */
static const struct mtlm_cluster device = {.flops_per_s = 1e12,
                                           .efficiency = 0.5,
                                           .bytes_per_s = 1e18,
                                           .memory_efficiency = 1,
                                           .processors = 4};

static void near(double have, double want)
{
    if (fabs(have - want) > 1e-12 * fabs(want))
        fail_msg("%.12g, not %.12g", have, want);
}

/* Returns the share q of e * peak that the product reaches. */
static double share(const struct mtlm_cluster *c, int64_t m, int64_t n,
                    int64_t k, int64_t batch)
{
    const struct mtlm_gemm p = {m, n, k, batch};

    return 2.0 * m * n * k * batch
           / (mtlm_gemm_cost_seconds(c, &p, 2) * c->efficiency
              * c->flops_per_s);
}

static void test_tiles_and_waves(void **state)
{
    struct mtlm_cluster c = device;

    (void) state;
    /* 2 x 2 tiles of 256 x 128 on 4 multiprocessors. */
    near(share(&c, 512, 256, 100, 1), 1);
    /* 6 tiles of 256 x 128 take 2 waves: 6/8.  12 of 128 x 128 fill 3 waves, at
     * 0.95. */
    near(share(&c, 512, 384, 100, 1), 0.95);
    /* One tile of 64 x 64 at 0.65, on one of 4; 4 such products fill all. */
    near(share(&c, 64, 64, 100, 1), 0.65 / 4);
    near(share(&c, 64, 64, 100, 4), 0.65);
    /* 96 of 128 columns: 2 tiles of 256 x 128 on 4; 4 of 128 x 128, 0.95; the
     * last wins with 0.95 x 3/4, as 4 of 64 x 128 are worth 0.82 x 3/4 / 2. */
    near(share(&c, 512, 96, 100, 1), 0.95 * 0.75);
    /* A tile spends 100 elements of k on begin and end. */
    c.product_fill = 100;
    near(share(&c, 512, 256, 100, 1), 0.5);
    near(share(&c, 512, 256, 300, 1), 0.75);
    /* Without multiprocessors, shapes do not matter. */
    c.processors = 0;
    near(share(&c, 512, 96, 100, 1), 1);
}

/* 2 bytes of A [512, 8], B [8, 256] and C [512, 256], 3 times, at half of 1e6
 * bytes a second. */
static void test_memory_bounds_thin_products(void **state)
{
    struct mtlm_cluster c = device;
    const struct mtlm_gemm p = {512, 256, 8, 3};

    (void) state;
    c.bytes_per_s = 1e6;
    c.memory_efficiency = 0.5;
    near(mtlm_gemm_cost_seconds(&c, &p, 2),
         3 * 2 * (512 * 8 + 8 * 256 + 512 * 256) / 0.5e6);
}

/* Products have the operations' FLOPs; GELU and masks aside. */
static void test_products_have_the_flops_of_their_calls(void **state)
{
    const struct mtlm_program_config config = small_config(2, 1, 1);
    struct mtlm_program *program = mtlm_program_build(&config);
    int linear = 0, attention = 0;

    (void) state;
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;
        struct mtlm_gemm p[MTLM_MAX_GEMMS];
        const int n = mtlm_gemm_cost_products(&node->call, p);
        double flops = 0;

        for (int k = 0; k < n; k++)
            flops += 2.0 * p[k].m * p[k].n * p[k].k * p[k].batch;
        switch (node->call.kind) {
        case MTLM_OP_LINEAR_FWD:
        case MTLM_OP_LINEAR_BIAS_FWD:
        case MTLM_OP_LINEAR_DGRAD:
        case MTLM_OP_LINEAR_WGRAD:
            linear++;
            near(flops, node->flops);
            break;
        case MTLM_OP_ATTENTION_FWD: /* 12 rows, 2 samples, 2 heads of 8 */
            attention++;
            near(flops, 2 * 2.0 * 12 * 12 * 8 * 2 * 2);
            break;
        case MTLM_OP_ATTENTION_BWD:
            attention++;
            near(flops, 4 * 2.0 * 12 * 12 * 8 * 2 * 2);
            break;
        case MTLM_OP_LINEAR_BIAS_WGRAD:
        case MTLM_OP_LINEAR_DGRAD_ADD:
        case MTLM_OP_LINEAR_GELU_FWD:
        case MTLM_OP_GELU_LINEAR_FWD:
        case MTLM_OP_GELU_LINEAR_DGRAD:
            assert_int_equal(n, 1);
            break;
        default:
            assert_int_equal(n, 0);
        }
    }
    assert_int_equal(attention, 2 * 4); /* layers */
    assert_true(linear > 4);
    mtlm_program_destroy(program);
}

static void assert_gemm(const struct mtlm_gemm *have, int64_t m, int64_t n,
                        int64_t k, int64_t batch)
{
    assert_int_equal(have->m, m);
    assert_int_equal(have->n, n);
    assert_int_equal(have->k, k);
    assert_int_equal(have->batch, batch);
}

/* 5 queries and 3 keys of 2 heads of 7, one sample: q k^T, p v; then dp = dy
 * v^T, dq = ds k, dk = ds^T q, dv = p^T dy. */
static void test_attention_has_two_products_and_four_gradients(void **state)
{
    struct mtlm_call call = {.kind = MTLM_OP_ATTENTION_MORE_FWD};
    struct mtlm_gemm p[MTLM_MAX_GEMMS];

    (void) state;
    call.attr.attention.heads = 2;
    call.shape[ATTM_QKV_Q] = MTLM_SHAPE(5, 1, 3 * 2 * 7);
    call.shape[ATTM_QKV_K] = MTLM_SHAPE(3, 1, 3 * 2 * 7);
    assert_int_equal(mtlm_gemm_cost_products(&call, p), 2);
    assert_gemm(&p[0], 5, 3, 7, 2);
    assert_gemm(&p[1], 5, 7, 3, 2);
    call.kind = MTLM_OP_ATTENTION_MORE_BWD;
    assert_int_equal(mtlm_gemm_cost_products(&call, p), 4);
    assert_gemm(&p[0], 5, 3, 7, 2);
    assert_gemm(&p[1], 5, 7, 3, 2);
    assert_gemm(&p[2], 3, 7, 5, 2);
    assert_gemm(&p[3], 3, 7, 5, 2);
}

/* Seconds of the products with gradients of weights, of one rank without
 * messages; *n: the number of their nodes. */
static double weight_seconds(const struct mtlm_cluster *c, int row_parts,
                             int *n)
{
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_program *program;
    struct mtlm_cost cost;
    double seconds = 0;

    *n = 0;
    config.row_parts = row_parts;
    program = mtlm_program_build(&config);
    cost = mtlm_cost_create(c, program);
    for (int i = 0; i < program->stage[0].weight.n; i++) {
        const struct mtlm_node *node = program->stage[0].weight.node[i];

        if (node->call.kind != MTLM_OP_LINEAR_WGRAD
            && node->call.kind != MTLM_OP_LINEAR_BIAS_WGRAD)
            continue;
        seconds += mtlm_cost_seconds(&cost, node);
        ++*n;
    }
    mtlm_program_destroy(program);
    return seconds;
}

/* A node of all parts takes the time of all of them. */
static void test_joined_parts_take_the_time_of_all(void **state)
{
    int whole, joined;
    const double seconds = weight_seconds(&device, 1, &whole);

    (void) state;
    assert_true(seconds > 0);
    near(weight_seconds(&device, 3, &joined), seconds);
    assert_true(joined < 3 * whole);
}

/* Parts of rows have the FLOPs of whole samples: causal attention sees each
 * earlier part once, other attention sees all parts. */
static void test_parts_have_the_flops_of_the_whole(void **state)
{
    static const enum mtlm_family family[] = {MTLM_GPT, MTLM_BERT};

    (void) state;
    for (int f = 0; f < 2; f++) {
        double flops[5] = {0};

        for (int parts = 1; parts <= 4; parts++) {
            const struct small_model model = {.family = family[f],
                                              .row_parts = parts};
            const struct mtlm_program_config config =
                small_model_config(&model, 2, 1, 1);
            struct mtlm_program *program = mtlm_program_build(&config);

            flops[parts] = mtlm_cost_product_flops(program);
            near(flops[parts], flops[1]);
            mtlm_program_destroy(program);
        }
        assert_true(flops[1] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_and_waves),
        cmocka_unit_test(test_memory_bounds_thin_products),
        cmocka_unit_test(test_products_have_the_flops_of_their_calls),
        cmocka_unit_test(test_attention_has_two_products_and_four_gradients),
        cmocka_unit_test(test_joined_parts_take_the_time_of_all),
        cmocka_unit_test(test_parts_have_the_flops_of_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
