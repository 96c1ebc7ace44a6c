/* CUDA kernels of linear.c: cuBLASLt in full single precision (no TF32).
 *
 * The library counts matrices by columns, so that a row-major [r, c] is its
 * c x r, not transposed: y = x weight^T becomes y' = weight'^T x' with n x m
 * = (k x n)^T times k x m, and so on. */

#include "config.h"

#include "codelets/linear.h"
#include "codelets/op.h"
#include "codelets/rows.cuh"
#include "runtime/device.h"
#include "runtime/error.h"

static void check(cublasStatus_t status, const char *what, int line)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        mtlm_fatal(__FILE__, line, "%s: %s", what,
                   cublasLtGetStatusString(status));
}
#define CHECK(expr) check(expr, #expr, __LINE__)

/* A matrix as the library sees it. */
struct matrix {
    const void *data;
    int64_t rows, cols;
    bool transpose;
};

static cublasLtMatrixLayout_t layout_of(const struct matrix *m)
{
    cublasLtMatrixLayout_t layout;

    CHECK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, m->rows, m->cols,
                                     m->rows));
    return layout;
}

static void set_transpose(cublasLtMatmulDesc_t desc,
                          cublasLtMatmulDescAttributes_t which, bool transpose)
{
    const cublasOperation_t op = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;

    CHECK(cublasLtMatmulDescSetAttribute(desc, which, &op, sizeof(op)));
}

static void set_bias(cublasLtMatmulDesc_t desc, const void *bias)
{
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;

    CHECK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                         &epilogue, sizeof(epilogue)));
    CHECK(cublasLtMatmulDescSetAttribute(
        desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
}

/* What the library may assume of an address: it takes 256 bytes for granted
 * unless told otherwise. */
static void set_alignment(cublasLtMatmulPreference_t preference,
                          cublasLtMatmulPreferenceAttributes_t which,
                          const void *data)
{
    uint32_t bytes = 256;

    while ((uintptr_t) data % bytes)
        bytes /= 2;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, which, &bytes,
                                               sizeof(bytes)));
}

/* A product of two matrices, as the library is to be asked for it. */
struct product {
    struct matrix a, b, c;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout_a, layout_b, layout_c;
};

/* The library's choice for this product within the device's workspace. */
static cublasLtMatmulAlgo_t choose(const struct mtlm_device *device,
                                   const struct product *p)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;

    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        &device->workspace_bytes, sizeof(device->workspace_bytes)));
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                  p->a.data);
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                  p->b.data);
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                  p->c.data);
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                  p->c.data);
    CHECK(cublasLtMatmulAlgoGetHeuristic(device->blas, p->desc, p->layout_a,
                                         p->layout_b, p->layout_c, p->layout_c,
                                         preference, 1, &result, &found));
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
    if (found == 0)
        mtlm_fatal(__FILE__, __LINE__, "cuBLASLt knows no way to multiply");
    return result.algo;
}

/* c = op(a) op(b) + beta c, with bias (or NULL) added to every column. */
static void multiply(const struct mtlm_device *device, struct matrix a,
                     struct matrix b, const void *bias, float beta,
                     struct matrix c)
{
    const float alpha = 1;
    struct product p = {
        a, b, c, NULL, layout_of(&a), layout_of(&b), layout_of(&c)};
    cublasLtMatmulAlgo_t algo;

    CHECK(cublasLtMatmulDescCreate(&p.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_transpose(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, a.transpose);
    set_transpose(p.desc, CUBLASLT_MATMUL_DESC_TRANSB, b.transpose);
    if (bias)
        set_bias(p.desc, bias);
    algo = choose(device, &p);
    CHECK(cublasLtMatmul(device->blas, p.desc, &alpha, a.data, p.layout_a,
                         b.data, p.layout_b, &beta, c.data, p.layout_c,
                         (void *) c.data, p.layout_c, &algo, device->workspace,
                         device->workspace_bytes, device->stream));
    CHECK(cublasLtMatmulDescDestroy(p.desc));
    CHECK(cublasLtMatrixLayoutDestroy(p.layout_c));
    CHECK(cublasLtMatrixLayoutDestroy(p.layout_b));
    CHECK(cublasLtMatrixLayoutDestroy(p.layout_a));
}

static void forward(const struct mtlm_call *call, const void *x,
                    const void *weight, const void *bias, void *y,
                    const struct mtlm_context *context)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LIN_X]);
    const int64_t n = call->shape[LIN_WEIGHT].dim[0];
    const int64_t k = call->shape[LIN_WEIGHT].dim[1];

    multiply(context->device, {weight, k, n, true}, {x, k, m, false}, bias, 0,
             {y, n, m, false});
}

void mtlm_linear_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    forward(call, ptr[LIN_X], ptr[LIN_WEIGHT], NULL, ptr[LIN_Y], context);
}

void mtlm_linear_bias_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    static_assert((int) LINB_X == (int) LIN_X
                      && (int) LINB_WEIGHT == (int) LIN_WEIGHT,
                  "forward() takes both shapes from the same places");
    forward(call, ptr[LINB_X], ptr[LINB_WEIGHT], ptr[LINB_BIAS], ptr[LINB_Y],
            context);
}

static void dgrad(void *const ptr[], const struct mtlm_call *call, float beta,
                  const struct mtlm_context *context)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LIND_DY]);
    const int64_t n = call->shape[LIND_WEIGHT].dim[0];
    const int64_t k = call->shape[LIND_WEIGHT].dim[1];

    multiply(context->device, {ptr[LIND_WEIGHT], k, n, false},
             {ptr[LIND_DY], n, m, false}, NULL, beta,
             {ptr[LIND_DX], k, m, false});
}

void mtlm_linear_dgrad_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    dgrad(ptr, call, 0, context);
}

void mtlm_linear_dgrad_add_cuda(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    dgrad(ptr, call, 1, context);
}

void mtlm_linear_wgrad_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LINW_X]);
    const int64_t n = call->shape[LINW_DWEIGHT].dim[0];
    const int64_t k = call->shape[LINW_DWEIGHT].dim[1];

    multiply(context->device, {ptr[LINW_X], k, m, false},
             {ptr[LINW_DY], n, m, true}, NULL, 1,
             {ptr[LINW_DWEIGHT], k, n, false});
}

void mtlm_linear_bias_wgrad_cuda(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    mtlm_linear_wgrad_cuda(ptr, call, context);
    mtlm_add_rows_cuda((float *) ptr[LINW_DBIAS], (const float *) ptr[LINW_DY],
                       mtlm_shape_rows(&call->shape[LINW_DY]),
                       mtlm_shape_cols(&call->shape[LINW_DY]),
                       context->device->stream);
}
