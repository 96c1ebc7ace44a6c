/* Programs of bf16 and fp16 values: what has which type, where masters are,
 * and an overflow in the middle of a training. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/predict/plan.h"
#include "runtime/base/value16.h"
#include "runtime/machine/gpu.h"
#include "tests/graph/interpreter.h"
#include "tests/graph/small.h"

static struct mtlm_program_config layout(enum mtlm_dtype value, int tp, int pp,
                                         int dp, bool sharded)
{
    struct mtlm_program_config config = small_config(tp, pp, 2);

    config.value = value;
    config.layout.dp = dp;
    config.distributed_optimizer = sharded;
    return config;
}

/* Every tensor of a 16-bit program has the type that runtime/base/dtype.h says.
 */
static void test_values_have_16_bit_and_nothing_else(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config =
            small_model_config(&small_models[i], 2, 2, 2);
        struct small_ranks ranks;

        config.value = MTLM_BF16;
        ranks = small_ranks_create(&config);
        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_graph *graph = ranks.program[r]->graph;

            for (int n = 0; n < graph->all.n; n++) {
                const struct mtlm_node *node = graph->all.node[n];
                const struct mtlm_op *op = mtlm_ops[node->call.kind];

                for (int k = 0; k < op->n_operands; k++)
                    assert_int_equal(node->operand[k]->dtype,
                                     mtlm_call_dtype(&node->call, k));
                assert_int_not_equal(node->call.kind, MTLM_OP_ADAM);
            }
            for (int t = 0; t < graph->n_tensors; t++) {
                const struct mtlm_tensor *tensor = graph->tensor[t];
                const bool real = tensor->dtype == MTLM_REAL;

                if (tensor->storage == MTLM_STORE_PARAM)
                    assert_int_equal(tensor->dtype, MTLM_BF16);
                if (tensor->storage == MTLM_STORE_GRAD
                    || tensor->storage == MTLM_STORE_MOMENT)
                    assert_true(real);
                /* Of activations only what has no column of the model. */
                if (tensor->storage == MTLM_STORE_ACTIVATION && real)
                    assert_true(mtlm_shape_elems(&tensor->shape)
                                <= 4 * 2 * 12 * 2);
            }
        }
        small_ranks_destroy(&ranks);
    }
}

/* megatron.md section 7: 18 bytes a parameter; with the distributed optimizer
 * 2 + 4, and this rank's share of three states and of the reduced gradient. */
static void check_bytes(int dp, bool sharded)
{
    const struct mtlm_program_config config =
        layout(MTLM_F16, 1, 1, dp, sharded);
    const double word = 60 * 32;
    const struct mtlm_plan plan = small_plan(&config);
    const double n = plan.parameters, shares = sharded ? dp : 1;

    assert_true(plan.weight_bytes == 2 * n);
    /* The output layer's gradient of the word embedding comes beside. */
    assert_true(plan.gradient_bytes - 4 * (n + word)
                <= (sharded ? 1.1 * 4 * (n + word) / dp : 0));
    assert_true(fabs(plan.moment_bytes / (12 * n / shares) - 1) < 0.1);
}

static void test_a_parameter_takes_18_bytes(void **state)
{
    (void) state;
    check_bytes(1, false);
    check_bytes(2, false);
    check_bytes(2, true);
}

static struct mtlm_plan first_plan(enum mtlm_dtype value, int tp, int pp,
                                   int dp)
{
    const struct mtlm_program_config config = layout(value, tp, pp, dp, false);

    return small_plan(&config);
}

/* The scratch of CPU kernels is the host's only where no GPU runs them, which a
 * program without CUDA has none to do; in 16 bits there is, at least, what the
 * output layer needs in single precision. */
static void test_a_gpu_needs_no_scratch_of_cpu_kernels(void **state)
{
    /* Where CPUs multiply bf16, products need no operands as floats. */
    const struct mtlm_program_config config = layout(MTLM_F16, 1, 1, 1, false);
    const struct mtlm_model *m = &config.model;
    const double rows = m->seq_length * config.micro_batch;
    const struct mtlm_plan single = first_plan(MTLM_REAL, 1, 1, 1);
    const struct mtlm_plan half = small_plan(&config);

    (void) state;
    if (!mtlm_ops[MTLM_OP_LINEAR_FWD]->cuda) {
        assert_true(single.cpu_kernel_bytes == 0);
        assert_true(half.cpu_kernel_bytes == 0);
        return;
    }
    assert_true(single.cpu_kernel_bytes > 0);
    assert_true(half.cpu_kernel_bytes - single.cpu_kernel_bytes
                >= 4
                       * ((rows + m->vocab_size) * m->hidden_size
                          + rows * m->vocab_size));
    assert_true(mtlm_plan_beside_gpu_bytes(&half, false) - MTLM_GPU_HOST_BYTES
                == mtlm_plan_more_bytes(&half) - mtlm_plan_gpu_bytes(&half)
                       + half.attention_bytes - half.cpu_kernel_bytes
                       + half.staged_bytes);
}

/* Of replicas of one stage only the samples are left. */
static void test_what_nccl_carries_has_no_copy_on_the_host(void **state)
{
    const struct mtlm_plan one = first_plan(MTLM_BF16, 1, 1, 1);
    const struct mtlm_plan replicas = first_plan(MTLM_BF16, 1, 1, 2);
    const struct mtlm_plan pair = first_plan(MTLM_BF16, 2, 1, 1);
    const struct mtlm_plan stages = first_plan(MTLM_BF16, 1, 2, 1);

    (void) state;
    assert_true(one.staged_nccl_bytes == one.staged_bytes);
    assert_true(replicas.staged_nccl_bytes == one.staged_bytes);
    assert_true(replicas.staged_bytes - one.staged_bytes
                >= replicas.weight_bytes);
    assert_true(pair.staged_nccl_bytes < pair.staged_bytes / 10);
    assert_true(mtlm_plan_beside_gpu_bytes(&pair, false)
                    - mtlm_plan_beside_gpu_bytes(&pair, true)
                == pair.staged_bytes - pair.staged_nccl_bytes);
    /* Sends and receives go by MPI. */
    assert_true(stages.staged_nccl_bytes > one.staged_bytes);
}

/* Beside a GPU copies for a checkpoint are there once; what one is read through
 * is there besides, whatever activations follow on the GPU, and so are copies
 * of what has been read. */
static void test_checkpoints_take_host_memory_beside_a_gpu(void **state)
{
    struct mtlm_program_config config = layout(MTLM_BF16, 1, 1, 1, false);
    const struct mtlm_plan none = small_plan(&config);
    const double word = 60 * 32; /* the largest parameter */
    struct mtlm_plan saves, weights, all;

    (void) state;
    config.save = MTLM_SAVE_ALL;
    saves = small_plan(&config);
    assert_true(mtlm_plan_beside_gpu_bytes(&saves, true) - saves.runtime_bytes
                == mtlm_plan_beside_gpu_bytes(&none, true) - none.runtime_bytes
                       + saves.saved_bytes);
    config.save = MTLM_SAVE_NOTHING;
    config.loads = MTLM_LOAD_WEIGHTS;
    weights = small_plan(&config);
    config.loads = MTLM_LOAD_ALL;
    all = small_plan(&config);
    assert_true(none.gpu_load_bytes == 0);
    assert_true(mtlm_plan_beside_gpu_bytes(&weights, true)
                    - mtlm_plan_beside_gpu_bytes(&none, true)
                >= weights.weight_bytes + weights.moment_bytes / 3 + 6 * word);
    assert_true(mtlm_plan_beside_gpu_bytes(&all, true)
                    - mtlm_plan_beside_gpu_bytes(&weights, true)
                == all.moment_bytes / 3 * 2);
}

/* The norm of what all ranks step, in 16 bits or not; padding is none. */
static double norm_of(struct interpreter *in,
                      const struct mtlm_program_config *config, bool rounded)
{
    double sum = 0;

    for (int r = 0; r < mtlm_layout_ranks(&config->layout); r++) {
        const struct mtlm_program *program = interpreter_program(in, r);

        for (int i = 0; i < program->n_params; i++) {
            const struct mtlm_parameter *p = &program->param[i];
            const int64_t rows = p->weight->shape.dim[0];
            const int64_t cols = mtlm_shape_elems(&p->weight->shape) / rows;
            const int64_t token_rows =
                p->kind == MTLM_PARAM_WORD || p->kind == MTLM_PARAM_LM_BIAS
                    ? config->model.vocab_size
                    : INT64_MAX;
            const float *master;

            if (!p->master || !p->counted
                || (!config->distributed_optimizer
                    && program->config.layout.dp_rank > 0))
                continue;
            master = interpreter_data(in, r, p->master);
            for (int64_t k = 0; k < mtlm_shape_elems(&p->master->shape); k++) {
                float x = master[k];
                uint16_t bits;

                mtlm_value16_round(config->value, &x, 1, &bits);
                if (rounded)
                    mtlm_value16_widen(config->value, &bits, 1, &x);
                if (p->first_row + (p->first + k) / cols < token_rows)
                    sum += (double) x * x;
            }
        }
    }
    return sqrt(sum);
}

static void check_params_norm(int tp, int pp, int dp, bool sharded)
{
    struct mtlm_program_config config = layout(MTLM_BF16, tp, pp, dp, sharded);
    struct interpreter *in;
    double want;

    config.params_norm = true;
    in = interpreter_create(&config);
    interpreter_init(in);
    interpreter_iteration(in, 0, false);
    want = norm_of(in, &config, false);
    assert_true(fabs(norm_of(in, &config, true) / want - 1) > 1e-9);
    for (int r = 0; r < mtlm_layout_ranks(&config.layout); r++) {
        struct mtlm_tensor *norm = interpreter_program(in, r)->params_norm;
        const double *got = interpreter_data(in, r, norm);

        assert_true(fabs(*got / want - 1) < 1e-12);
    }
    interpreter_destroy(in);
}

static void test_the_norm_of_the_weights_is_that_of_the_masters(void **state)
{
    (void) state;
    check_params_norm(1, 1, 1, false);
    check_params_norm(2, 1, 2, false);
    check_params_norm(1, 2, 2, true);
}

/* The masters of all ranks are the weights of an fp32 program, the weights
 * these rounded; also pieces of shards. */
static void check_start(enum mtlm_dtype value, int tp, bool sharded)
{
    const struct mtlm_program_config config = layout(value, tp, 2, 2, sharded);
    const struct mtlm_program_config single =
        layout(MTLM_REAL, tp, 2, 2, sharded);
    struct interpreter *in = interpreter_create(&config);
    struct interpreter *in32 = interpreter_create(&single);
    int64_t masters = 0;

    interpreter_init(in);
    interpreter_init(in32);
    for (int r = 0; r < mtlm_layout_ranks(&config.layout); r++) {
        const struct mtlm_program *program = interpreter_program(in, r);

        for (int i = 0; i < program->n_params; i++) {
            const struct mtlm_parameter *p = &program->param[i];
            const struct mtlm_parameter *q =
                &interpreter_program(in32, r)->param[i];
            const int64_t n = mtlm_shape_elems(&p->weight->shape);
            const float *want = interpreter_data(in32, r, q->weight);
            uint16_t *rounded = mtlm_calloc(n, sizeof(*rounded));

            mtlm_value16_round(value, want, n, rounded);
            assert_memory_equal(interpreter_data(in, r, p->weight), rounded,
                                n * sizeof(*rounded));
            free(rounded);
            if (!p->master)
                continue;
            assert_memory_equal(interpreter_data(in, r, p->master),
                                want + p->first, mtlm_tensor_bytes(p->master));
            masters += mtlm_shape_elems(&p->master->shape);
        }
    }
    assert_true(masters > 0);
    interpreter_destroy(in);
    interpreter_destroy(in32);
}

static void test_masters_begin_as_fp32_weights(void **state)
{
    (void) state;
    check_start(MTLM_BF16, 1, false);
    check_start(MTLM_F16, 2, true);
}

/* A copy of all masters and moments of rank 0, and of the weights. */
static char *states_of(struct interpreter *in, size_t *bytes)
{
    const struct mtlm_program *program = interpreter_program(in, 0);
    char *all = NULL;

    *bytes = 0;
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        struct mtlm_tensor *const tensors[] = {p->weight, p->master, p->m,
                                               p->v};

        for (int k = 0; k < 4 && p->master; k++) {
            const size_t n = mtlm_tensor_bytes(tensors[k]);

            all = mtlm_realloc(all, *bytes + n, 1);
            memcpy(all + *bytes, interpreter_data(in, 0, tensors[k]), n);
            *bytes += n;
        }
    }
    return all;
}

static double control(struct interpreter *in, int rank, int slot)
{
    const struct mtlm_program *program = interpreter_program(in, rank);
    const double *values = interpreter_data(in, rank, program->control);

    return values[slot];
}

/* A gradient that no other rank has, and that microbatches add to. */
static float *gradient_of(struct interpreter *in, int rank)
{
    const struct mtlm_program *program = interpreter_program(in, rank);
    int i = 0;

    while (program->param[i].info.split < 0 || program->param[i].copy
           || program->param[i].grad_is_set)
        i++;
    return interpreter_data(in, rank, program->param[i].grad);
}

/* A gradient of the last rank is infinite in iteration 2 of 6: no rank steps
 * then, the scale halves everywhere, and doubles after two clean iterations. */
static void check_overflow(int tp, int pp, int dp, bool sharded)
{
    static const double scale[] = {1024, 2048, 1024, 1024, 2048, 2048};
    struct mtlm_program_config config = layout(MTLM_F16, tp, pp, dp, sharded);
    struct interpreter *in;
    const int ranks = mtlm_layout_ranks(&config.layout);

    config.loss_scale = (struct mtlm_loss_scale){.initial = 1024,
                                                 .min = 1,
                                                 .window = 2,
                                                 .hysteresis = 1,
                                                 .dynamic = true};
    in = interpreter_create(&config);
    interpreter_init(in);
    for (int e = 0; e < 6; e++) {
        size_t bytes, same;
        char *before = states_of(in, &bytes), *after;
        const double clock = control(in, 0, MTLM_CONTROL_CLOCK);

        if (e == 2)
            *gradient_of(in, ranks - 1) = INFINITY;
        interpreter_iteration(in, e, false);
        after = states_of(in, &same);
        assert_int_equal(memcmp(before, after, bytes) == 0, e == 2);
        for (int r = 0; r < ranks; r++) {
            assert_true(control(in, r, MTLM_CONTROL_LOSS_SCALE) == scale[e]);
            assert_true(control(in, r, MTLM_CONTROL_APPLY) == (e != 2));
            assert_true(control(in, r, MTLM_CONTROL_SKIPPED) == (e >= 2));
            assert_true(control(in, r, MTLM_CONTROL_NAN) == 0);
        }
        assert_true((control(in, 0, MTLM_CONTROL_CLOCK) > clock) == (e != 2));
        free(before), free(after);
    }
    interpreter_destroy(in);
}

static void test_an_overflow_skips_the_step_on_all_ranks(void **state)
{
    (void) state;
    check_overflow(1, 1, 1, false);
    check_overflow(2, 2, 1, false);
    check_overflow(1, 2, 2, true);
}

/* A scale of a power of two changes no bit of what fp32 gradients become, as
 * long as nothing of 16 bit is so small that it loses bits: the norm says. */
static void test_the_norm_does_not_depend_on_the_scale(void **state)
{
    double norm[2];

    (void) state;
    for (int i = 0; i < 2; i++) {
        struct mtlm_program_config config = layout(MTLM_BF16, 1, 1, 1, false);
        struct interpreter *in;

        config.loss_scale.initial = i ? 4096 : 1;
        in = interpreter_create(&config);
        interpreter_init(in);
        interpreter_iteration(in, 0, false);
        norm[i] = control(in, 0, MTLM_CONTROL_NORM);
        interpreter_destroy(in);
    }
    assert_true(norm[0] == norm[1] && norm[0] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_have_16_bit_and_nothing_else),
        cmocka_unit_test(test_a_parameter_takes_18_bytes),
        cmocka_unit_test(test_a_gpu_needs_no_scratch_of_cpu_kernels),
        cmocka_unit_test(test_what_nccl_carries_has_no_copy_on_the_host),
        cmocka_unit_test(test_checkpoints_take_host_memory_beside_a_gpu),
        cmocka_unit_test(test_the_norm_of_the_weights_is_that_of_the_masters),
        cmocka_unit_test(test_masters_begin_as_fp32_weights),
        cmocka_unit_test(test_an_overflow_skips_the_step_on_all_ranks),
        cmocka_unit_test(test_the_norm_does_not_depend_on_the_scale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
