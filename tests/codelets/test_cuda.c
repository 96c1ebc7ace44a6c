/* Each CUDA kernel of the table against the CPU's of the same operation, on
 * the same operands; skipped where there is no GPU. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/codelets/support.h"

#if HAVE_CUDA

#include "runtime/device.h"

#define BOUND 1e-5

/* No multiples of a warp or a block of threads. */
enum { S = 37, B = 3, H = 301, F = 523 };

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(error));
}

static struct mtlm_device device_start(void)
{
    struct mtlm_device device = {.workspace_bytes = 32 << 20};

    check(cudaStreamCreate(&device.stream));
    check(cudaMalloc(&device.workspace, device.workspace_bytes));
    assert_int_equal(cublasLtCreate(&device.blas), CUBLAS_STATUS_SUCCESS);
    return device;
}

static void device_stop(struct mtlm_device *device)
{
    cublasLtDestroy(device->blas);
    check(cudaFree(device->workspace));
    check(cudaStreamDestroy(device->stream));
}

/* Runs call on both and compares everything that it writes. */
static void compare(const struct mtlm_device *device, struct mtlm_call call)
{
    const struct mtlm_op *op = mtlm_ops[call.kind];
    const struct mtlm_context context = {.device =
                                             (struct mtlm_device *) device};
    mtlm_real *host[MTLM_MAX_OPERANDS];
    void *there[MTLM_MAX_OPERANDS];
    struct mtlm_error err;

    if (op->infer(&call, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < op->n_operands; i++) {
        const int64_t n = mtlm_shape_elems(&call.shape[i]);

        host[i] = new_normal(n, 10 + i);
        check(cudaMalloc(&there[i], n * sizeof(mtlm_real)));
        check(cudaMemcpy(there[i], host[i], n * sizeof(mtlm_real),
                         cudaMemcpyHostToDevice));
    }
    op->cuda(there, &call, &context);
    check(cudaGetLastError());
    check(cudaStreamSynchronize(device->stream));
    run_op(call, (void **) host, 0);
    for (int i = 0; i < op->n_operands; i++) {
        const int64_t n = mtlm_shape_elems(&call.shape[i]);
        mtlm_real *got = new_undefined(n);
        double *want = mtlm_calloc(n, sizeof(*want));

        check(cudaMemcpy(got, there[i], n * sizeof(*got),
                         cudaMemcpyDeviceToHost));
        for (int64_t e = 0; e < n; e++)
            want[e] = host[i][e];
        if (!(worst_error(got, want, n) < BOUND))
            fail_msg("%s: operand %d is off by %g", op->name, i,
                     worst_error(got, want, n));
        free(got), free(want), free(host[i]);
        check(cudaFree(there[i]));
    }
}

static void test_gpu_kernels_give_what_the_cpu_s_give(void **state)
{
    const struct mtlm_shape x = MTLM_SHAPE(S, B, H), y = MTLM_SHAPE(S, B, F);
    const struct mtlm_shape h = MTLM_SHAPE(H), f = MTLM_SHAPE(F), none = {0};
    const struct mtlm_shape w = MTLM_SHAPE(F, H), rows = MTLM_SHAPE(S, B);
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_LINEAR_FWD, .shape = {x, w}},
        {.kind = MTLM_OP_LINEAR_BIAS_FWD, .shape = {x, w, f}},
        {.kind = MTLM_OP_LINEAR_DGRAD, .shape = {y, w}},
        {.kind = MTLM_OP_LINEAR_DGRAD_ADD, .shape = {y, w, x}},
        {.kind = MTLM_OP_LINEAR_WGRAD, .shape = {x, y, w}},
        {.kind = MTLM_OP_LINEAR_BIAS_WGRAD, .shape = {x, y, w, f}},
        {.kind = MTLM_OP_LAYERNORM_FWD,
         .attr.layernorm.epsilon = 1e-5,
         .shape = {x, h, h}},
        {.kind = MTLM_OP_LAYERNORM_BWD,
         .shape = {x, h, rows, rows, x, none, h, h}},
        {.kind = MTLM_OP_LAYERNORM_BWD_ADD,
         .shape = {x, h, rows, rows, x, x, h, h}},
        {.kind = MTLM_OP_BIAS_GELU_FWD, .shape = {y, f}},
        {.kind = MTLM_OP_BIAS_GELU_BWD, .shape = {y, f, y, none, f}},
        {.kind = MTLM_OP_BIAS_GELU_FWD,
         .attr.gelu.exact = true,
         .shape = {y, f}},
        {.kind = MTLM_OP_BIAS_GELU_BWD,
         .attr.gelu.exact = true,
         .shape = {y, f, y, none, f}},
    };
    const int n = sizeof(calls) / sizeof(*calls);
    struct mtlm_device device;

    (void) state;
    for (int kind = 0; kind < MTLM_OP_COUNT; kind++) {
        bool compared = !mtlm_ops[kind]->cuda;

        for (int i = 0; i < n; i++)
            compared |= (int) calls[i].kind == kind;
        assert_true(compared);
    }
    device = device_start();
    for (int i = 0; i < n; i++)
        compare(&device, calls[i]);
    device_stop(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_kernels_give_what_the_cpu_s_give),
    };
    int gpus = 0;

    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)
        return puts("1..0 # SKIP no GPU") == EOF;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return puts("1..0 # SKIP built without CUDA") == EOF;
}

#endif
