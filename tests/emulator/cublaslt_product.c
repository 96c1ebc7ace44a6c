/* cuBLASLt's double: the reference product. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "tests/emulator/cublaslt_double.h"
#include "tests/emulator/device_double.h"

static int type_bytes(int32_t type)
{
    if (type != CUDA_R_32F && type != CUDA_R_16BF && type != CUDA_R_16F)
        blas_wrong("a type other than float, bfloat16 and half");
    return type == CUDA_R_32F ? 4 : 2;
}

float blas_load(const void *p, int64_t i, int32_t type)
{
    uint32_t bits;
    uint16_t half;
    _Float16 h;
    float f;

    if (type == CUDA_R_32F)
        return ((const float *) p)[i];
    memcpy(&half, (const char *) p + 2 * i, 2);
    if (type == CUDA_R_16F) {
        memcpy(&h, &half, 2);
        return h;
    }
    bits = (uint32_t) half << 16;
    memcpy(&f, &bits, 4);
    return f;
}

void blas_store(void *p, int64_t i, int32_t type, float value)
{
    const _Float16 h = value;
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &value, 4);
    if (type == CUDA_R_32F) {
        ((float *) p)[i] = value;
        return;
    }
    if (isnan(value))
        half = 0x7fff;
    else /* to nearest, ties to even */
        half = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    if (type == CUDA_R_16F)
        memcpy(&half, &h, 2);
    memcpy((char *) p + 2 * i, &half, 2);
}

static int64_t place(const struct blas_layout *m, int64_t row, int64_t col,
                     int batch)
{
    return batch * m->batch_stride
           + (m->order == CUBLASLT_ORDER_ROW ? row * m->ld + col
                                             : row + col * m->ld);
}

/* The matrix by columns, without gaps; the caller frees it. */
static float *dense(const void *p, const struct blas_layout *m, int batch)
{
    float *to = malloc(sizeof(*to) * m->rows * m->cols);

    for (uint64_t j = 0; j < m->cols; j++)
        for (uint64_t i = 0; i < m->rows; i++)
            to[i + j * m->rows] = blas_load(p, place(m, i, j, batch), m->type);
    return to;
}

static void finish(const struct blas_product *p, const float *y, const void *c,
                   void *d, int batch)
{
    for (int i = 0; i < p->m; i++) {
        double sum = 0;

        for (int j = 0; j < p->n; j++) {
            double z = (double) p->alpha * y[i + (int64_t) j * p->m];

            if (p->beta != 0)
                z += (double) p->beta
                     * blas_load(c, place(p->c, i, j, batch), p->c->type);
            z = blas_epilogue(p, z, i, j);
            blas_store(d, place(p->d, i, j, batch), p->d->type, z);
            sum += z;
        }
        blas_epilogue_sum(p, i, sum);
    }
}

static void multiply(const struct blas_product *p, const void *a, const void *b,
                     const void *c, void *d, int batch)
{
    float *da = dense(a, p->a, batch), *db = dense(b, p->b, batch);
    float *y = malloc(sizeof(*y) * p->m * p->n);

    cblas_sgemm(CblasColMajor,
                p->desc->transpose_a == CUBLAS_OP_T ? CblasTrans : CblasNoTrans,
                p->desc->transpose_b == CUBLAS_OP_T ? CblasTrans : CblasNoTrans,
                p->m, p->n, p->k, 1, da, p->a->rows, db, p->b->rows, 0, y,
                p->m);
    blas_bias_gradient(p, da, db);
    finish(p, y, c, d, batch);
    free(y), free(db), free(da);
}

bool blas_in_device_memory(const void *p)
{
    struct cudaPointerAttributes attributes;

    return cudaPointerGetAttributes(&attributes, p) == cudaSuccess
           && attributes.type == cudaMemoryTypeDevice;
}

/* That each operand is in device memory, and where the library was told. */
static void check_addresses(const struct blas_choice *choice,
                            const void *const p[4])
{
    for (int i = 0; i < 4; i++) {
        if (!blas_in_device_memory(p[i]))
            blas_wrong("a matrix is not in device memory");
        if ((uintptr_t) p[i] % choice->alignment[i])
            blas_wrong("a matrix is not aligned as was said");
    }
}

static bool fits(const struct blas_product *p)
{
    const bool ta = p->desc->transpose_a == CUBLAS_OP_T;
    const bool tb = p->desc->transpose_b == CUBLAS_OP_T;

    return (ta ? p->a->cols : p->a->rows) == p->d->rows
           && (tb ? p->b->rows : p->b->cols) == p->d->cols
           && (ta ? p->a->rows : p->a->cols) == (tb ? p->b->cols : p->b->rows)
           && p->c->rows == p->d->rows && p->c->cols == p->d->cols
           && p->a->batch == p->d->batch && p->b->batch == p->d->batch;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle,
                              cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t layout_a,
                              const void *b, cublasLtMatrixLayout_t layout_b,
                              const void *beta, const void *c,
                              cublasLtMatrixLayout_t layout_c, void *d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    struct blas_product p = {.desc = (const struct blas_description *) desc,
                             .a = (const struct blas_layout *) layout_a,
                             .b = (const struct blas_layout *) layout_b,
                             .c = (const struct blas_layout *) layout_c,
                             .d = (const struct blas_layout *) layout_d,
                             .alpha = *(const float *) alpha,
                             .beta = *(const float *) beta};
    const struct blas_choice *choice = (const struct blas_choice *) algo;
    cublasStatus_t status;

    if (!handle || !fits(&p) || p.desc->scale_type != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!blas_epilogue_suits(&p))
        blas_wrong("an epilogue's operand is not as the manual asks");
    if (!blas_epilogue_aligned(p.desc))
        blas_wrong("an epilogue's operand is not aligned to 16 bytes");
    blas_count(p.desc);
    if (blas_refuses(p.desc, "run", &status))
        return status;
    type_bytes(p.a->type), type_bytes(p.b->type), type_bytes(p.d->type);
    if (choice) {
        if (choice->workspace_bytes > workspace_bytes
            || (workspace_bytes && !workspace))
            return CUBLAS_STATUS_INVALID_VALUE;
        check_addresses(choice, (const void *const[]){a, b, c, d});
    }
    p.m = p.d->rows, p.n = p.d->cols;
    p.k = p.desc->transpose_a == CUBLAS_OP_T ? p.a->rows : p.a->cols;
    mtlm_double_kernel(stream);
    for (int i = 0; i < p.d->batch; i++)
        multiply(&p, a, b, c, d, i);
    return CUBLAS_STATUS_SUCCESS;
}
