/* The first row of a sample, which BERT's binary head takes for the whole:
 * y = x[0]; dx[0] += dy.
 *
 * x, dx [s, b, h]; y, dy [1, b, h]. */

#include "config.h"

#include <string.h>

#include "codelets/infer.h"
#include "codelets/pool.h"

static struct mtlm_shape first_row(const struct mtlm_shape *x)
{
    return MTLM_SHAPE(1, x->dim[1], x->dim[2]);
}

static int pool_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[POOL_Y] = first_row(&call->shape[POOL_X]);
    return mtlm_infer_expect_rank(call, POOL_X, "x", 3, err);
}

static void pool_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    (void) context;
    memcpy(ptr[POOL_Y], ptr[POOL_X],
           mtlm_shape_elems(&call->shape[POOL_Y]) * sizeof(mtlm_real));
}

const struct mtlm_op mtlm_op_pool_fwd = {
    .name = "pool_fwd",
    .n_operands = 2,
    .access = {[POOL_X] = MTLM_R, [POOL_Y] = MTLM_W},
    .dtype = {[POOL_X] = MTLM_VALUE, [POOL_Y] = MTLM_VALUE},
    .infer = pool_fwd_infer,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_POOL_BWD,
                       .arg = {{MTLM_GRAD_OF, POOL_Y},
                               {MTLM_GRAD_OF, POOL_X}}}}},
    .cpu = pool_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(pool_fwd),
};

static int pool_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_rank(call, POOLB_DX, "dx", 3, err)
                   || mtlm_infer_expect_shape(call, POOLB_DY, "dy",
                                              first_row(&call->shape[POOLB_DX]),
                                              err)
               ? -1
               : 0;
}

static void pool_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[POOLB_DY]);
    const mtlm_real *dy = ptr[POOLB_DY];
    mtlm_real *dx = ptr[POOLB_DX];

    (void) context;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dx[i] += dy[i];
}

const struct mtlm_op mtlm_op_pool_bwd = {
    .name = "pool_bwd",
    .n_operands = 2,
    .access = {[POOLB_DY] = MTLM_R, [POOLB_DX] = MTLM_RW},
    .dtype = {[POOLB_DY] = MTLM_VALUE, [POOLB_DX] = MTLM_VALUE},
    .infer = pool_bwd_infer,
    .cpu = pool_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(pool_bwd),
};
