/* Published code: traffic of a layer, features, and what costs make of them. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/build/program_build.h"
#include "graph/predict/cost.h"
#include "graph/predict/profile.h"
#include "tests/graph/small.h"

static void near(double have, double want)
{
    if (fabs(have - want) > 1e-9 * fabs(want))
        fail_msg("%.12g, not %.12g", have, want);
}

static const struct mtlm_profile *profile_of(const char *name)
{
    const struct mtlm_profile *profile = mtlm_profile_find(name);

    assert_non_null(profile);
    return profile;
}

/* Bytes of the kernels of one layer in a list, for values of so many bytes,
 * without the layer's repeated nodes. */
static double layer_bytes(const struct mtlm_profile *profile,
                          const struct mtlm_list *list, int layer, double value)
{
    double bytes = 0;
    int kernels;

    for (int i = 0; i < list->n; i++)
        if (list->node[i]->layer == layer && !list->node[i]->recomputes)
            bytes +=
                mtlm_profile_bytes(profile, list->node[i], value, &kernels);
    return bytes;
}

/* A layer of 12 rows, 2 samples, h 32, 4 heads: forward and backward elements
 * for each of s b h, as constant and over t; bytes for each score; 3 values for
 * each of 12 h^2 / t weights that a kernel adds.  fp32 has values of 4 bytes.
 */
static void test_a_layer_moves_the_bytes_that_the_code_moved(void **state)
{
    static const struct {
        const char *name;
        double forward, forward_t, backward, backward_t, scores[2], add;
    } cases[] = {{"megatron-2019", 19, 30, 23, 33, {21, 19}, 3},
                 {"v1.0", 19, 30, 23, 33, {13, 15}, 3},
                 {"2021", 11, 16, 23, 27, {8, 9}, 3},
                 {"2021-unfused", 19, 24, 23, 27, {41, 45}, 3},
                 {"megatron-2022", 11, 16, 23, 27, {8, 9}, 0}};
    const double sbh = 12 * 2 * 32, scores = 12 * 12 * 2 * 4;

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int job = 0; job < 4; job++) {
            const int t = 1 + job / 2, value = 2 + 2 * (job % 2);
            const struct mtlm_profile *profile = profile_of(cases[i].name);
            const struct mtlm_program_config config = small_config(t, 1, 1);
            struct mtlm_program *program = mtlm_program_build(&config);
            const struct mtlm_stage *stage = &program->stage[0];

            near(layer_bytes(profile, &stage->forward, 1, value),
                 value * sbh * (cases[i].forward + cases[i].forward_t / t)
                     + cases[i].scores[0] * scores / t);
            near(layer_bytes(profile, &stage->backward, 1, value)
                     + layer_bytes(profile, &stage->weight, 1, value),
                 value * sbh * (cases[i].backward + cases[i].backward_t / t)
                     + cases[i].scores[1] * scores / t
                     + value * cases[i].add * 12 * 32 * 32 / t);
            mtlm_program_destroy(program);
        }
}

static void test_the_code_has_the_features_of_its_year(void **state)
{
    static const char *const before_bf16[] = {"megatron-2019", "v1.0",
                                              "2020-09"};
    struct mtlm_program_config config = small_config(1, 2, 2);

    (void) state;
    assert_null(mtlm_profile_find("2018"));
    config.schedule = small_schedule("zb-v");
    assert_string_equal(mtlm_profile_lacks(profile_of("2021"), &config, false),
                        "a schedule but 1f1b and interleaved");
    config.schedule = small_schedule("1f1b");
    assert_string_equal(mtlm_profile_lacks(profile_of("v1.0"), &config, false),
                        "a pipeline");
    assert_null(mtlm_profile_lacks(profile_of("2020-09"), &config, false));
    config.schedule = small_schedule("interleaved");
    config.layout.virtual_stages = 2;
    assert_string_equal(
        mtlm_profile_lacks(profile_of("2020-09"), &config, false),
        "virtual stages");
    config.sequence_parallel = true;
    assert_string_equal(mtlm_profile_lacks(profile_of("2021"), &config, false),
                        "sequence parallelism");
    assert_null(mtlm_profile_lacks(profile_of("2022"), &config, false));
    config.sequence_parallel = false;
    config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
    assert_string_equal(mtlm_profile_lacks(profile_of("2021"), &config, false),
                        "selective recomputation");
    config.value = MTLM_BF16;
    for (size_t i = 0; i < sizeof(before_bf16) / sizeof(before_bf16[0]); i++)
        assert_string_equal(
            mtlm_profile_lacks(profile_of(before_bf16[i]), &config, true),
            "bf16");
    assert_null(mtlm_profile_lacks(profile_of("2022"), &config, false));
    config.distributed_optimizer = true;
    assert_string_equal(mtlm_profile_lacks(profile_of("2022"), &config, false),
                        "a distributed optimizer");
    config.distributed_optimizer = false;
    config.offload = MTLM_OFFLOAD_OPTIMIZER;
    assert_string_equal(mtlm_profile_lacks(profile_of("2022"), &config, false),
                        "moments on a disk");
}

/* Seconds of the first node of that operation in the list. */
static double first(const struct mtlm_cost *cost, const struct mtlm_list *list,
                    enum mtlm_op_kind kind)
{
    for (int i = 0; i < list->n; i++)
        if (list->node[i]->call.kind == kind && !list->node[i]->recomputes)
            return mtlm_cost_seconds(cost, list->node[i]);
    fail_msg("there is no %s", mtlm_ops[kind]->name);
    return 0;
}

/* Stages on two hosts.  2021: each of 2 ranks sends its half, and the receivers
 * gather; in 2020-09, and unscattered, each sends all.  2022 pays a fifth of
 * the messages that it hides. */
static void test_messages_are_those_of_the_code(void **state)
{
    struct mtlm_cluster c = {.flops_per_s = 1e12,
                             .efficiency = 1,
                             .bytes_per_s = 1e12,
                             .memory_efficiency = 1,
                             .element_bytes = 2,
                             .devices = 2,
                             .host = {1e-6, 1e9},
                             .network = {5e-6, 1e8},
                             .overlap_tax = 0.2};
    struct mtlm_program_config config = small_config(2, 2, 2);
    const double bytes = 2.0 * 12 * 2 * 32; /* [s, b, h] */
    const double reduce = 2e-6 + bytes / 1e9;
    struct mtlm_program *program;
    struct mtlm_cost cost;

    (void) state;
    mtlm_layout_place(&config.layout, 0);
    program = mtlm_program_build(&config);
    c.profile = profile_of("2020-09");
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->stage[0].forward, MTLM_OP_SEND),
         5e-6 + bytes / 1e8);
    near(first(&cost, &program->stage[0].backward, MTLM_OP_ALL_REDUCE), reduce);
    c.profile = profile_of("2021-unscattered");
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->stage[0].forward, MTLM_OP_SEND),
         5e-6 + bytes / 1e8);
    c.profile = profile_of("2021");
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->stage[0].forward, MTLM_OP_SEND),
         5e-6 + bytes / 2 / 1e8 + 1e-6 + bytes / 2 / 1e9);
    c.profile = profile_of("2022");
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->stage[0].forward, MTLM_OP_ALL_REDUCE), reduce);
    near(first(&cost, &program->stage[0].backward, MTLM_OP_ALL_REDUCE),
         0.2 * reduce);
    mtlm_program_destroy(program);
}

/* Computation of F and of B with W lasts as long as the host launches their
 * kernels, messages included; our own code pays the tax on its messages. */
static void test_the_host_and_messages_slow_computation_down(void **state)
{
    struct mtlm_cluster c = {.flops_per_s = 1e12,
                             .efficiency = 1,
                             .bytes_per_s = 1e12,
                             .memory_efficiency = 1,
                             .element_bytes = 2,
                             .host = {1e-6, 1e9},
                             .host_s = 1e-3,
                             .profile = profile_of("2021")};
    const struct mtlm_program_config config = small_config(2, 1, 1);
    struct mtlm_program *program = mtlm_program_build(&config);
    const struct mtlm_list *forward = &program->stage[0].forward;
    struct mtlm_cost cost = mtlm_cost_create(&c, program);
    double all = 0, computing = 0, messages = 0;
    int total = 0, kernels;

    (void) state;
    for (int i = 0; i < forward->n; i++) {
        kernels = 1;
        if (forward->node[i]->lane == MTLM_LANE_COMPUTE)
            mtlm_profile_bytes(c.profile, forward->node[i], 2, &kernels);
        total += kernels;
        all += mtlm_cost_seconds(&cost, forward->node[i]);
    }
    near(all, total * 1e-3);
    assert_true(total > 4 * 15); /* kernels of a layer's forward */
    c.profile = NULL;
    c.host_s = 0;
    c.overlap_tax = 0.25;
    cost = mtlm_cost_create(&c, program);
    c.overlap_tax = 0; /* the cost keeps what it made of the tax */
    for (int i = 0; i < forward->n; i++)
        *(forward->node[i]->lane == MTLM_LANE_TP ? &messages : &all) +=
            mtlm_cost_seconds(&cost, forward->node[i]);
    all -= total * 1e-3;
    cost = mtlm_cost_create(&c, program);
    for (int i = 0; i < forward->n; i++)
        if (forward->node[i]->lane == MTLM_LANE_COMPUTE)
            computing += mtlm_cost_seconds(&cost, forward->node[i]);
    near(all, computing + 0.25 * messages);
    mtlm_program_destroy(program);
}

/* Seconds of the sums of gradients of two replicas. */
static double reduce_seconds(const struct mtlm_profile *profile,
                             enum mtlm_dtype value)
{
    const struct mtlm_cluster c = {.flops_per_s = 1e12,
                                   .efficiency = 1,
                                   .bytes_per_s = 1e12,
                                   .memory_efficiency = 1,
                                   .element_bytes = 4,
                                   .host = {0, 1e9},
                                   .profile = profile};
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_program *program;
    struct mtlm_cost cost;
    double seconds = 0;

    config.layout.dp = 2;
    config.value = value;
    program = mtlm_program_build(&config);
    cost = mtlm_cost_create(&c, program);
    for (int i = 0; i < program->train.n; i++)
        if (program->train.item[i].node->call.kind == MTLM_OP_BUCKET_ALL_REDUCE)
            seconds += mtlm_cost_seconds(&cost, program->train.item[i].node);
    mtlm_program_destroy(program);
    return seconds;
}

/* In fp16 the code reduces gradients of 2 bytes, else of 4, as ours does. */
static void test_gradients_have_the_bytes_of_the_job(void **state)
{
    const double halves = reduce_seconds(profile_of("2021"), MTLM_F16);

    (void) state;
    assert_true(halves > 0);
    near(reduce_seconds(profile_of("2021"), MTLM_BF16), 2 * halves);
    near(reduce_seconds(profile_of("2021"), MTLM_REAL), 2 * halves);
    near(reduce_seconds(NULL, MTLM_BF16), 2 * halves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_layer_moves_the_bytes_that_the_code_moved),
        cmocka_unit_test(test_the_code_has_the_features_of_its_year),
        cmocka_unit_test(test_messages_are_those_of_the_code),
        cmocka_unit_test(test_gradients_have_the_bytes_of_the_job),
        cmocka_unit_test(test_the_host_and_messages_slow_computation_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
