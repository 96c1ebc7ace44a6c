/* A stand-in for cuBLASLt on the device double: a reference product on the
 * host that honours layouts, transposes, epilogues and types, and what the
 * library was told about alignment.  Sums are in single precision, what is
 * read and written is rounded to the matrix' type.  With
 * MTLM_DOUBLE_REFUSE_EPILOGUES=ask it proposes no way for any epilogue, with
 * =run it refuses what it has proposed: as the library may.  The status is
 * CUBLAS_STATUS_NOT_SUPPORTED, or N of ask:N and run:N; ask:0 finds nothing.
 *
 * Here what programs describe; cublaslt_choice.c proposes, cublaslt_product.c
 * multiplies, cublaslt_epilogue.c does the rest.
 *
 * Meanings: cuBLAS manual, 13.0, section 3. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cublaslt_double.h"

_Static_assert(sizeof(struct blas_layout)
                   <= sizeof(cublasLtMatrixLayoutOpaque_t),
               "fits where programs keep it");
_Static_assert(sizeof(struct blas_description)
                   <= sizeof(cublasLtMatmulDescOpaque_t),
               "fits where programs keep it");
_Static_assert(sizeof(struct blas_preference)
                   <= sizeof(cublasLtMatmulPreferenceOpaque_t),
               "fits where programs keep it");
_Static_assert(sizeof(struct blas_choice) <= sizeof(cublasLtMatmulAlgo_t),
               "fits where programs keep it");

void blas_wrong(const char *what)
{
    fprintf(stderr, "cuBLASLt double: %s\n", what);
    abort();
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    int gpus;

    if (cudaGetDeviceCount(&gpus) != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "CUBLAS_STATUS_ARCH_MISMATCH";
    default:
        return "an error of cuBLASLt";
    }
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return cublasLtGetStatusName(status);
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDART_VERSION;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t m,
                                                 size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t cols,
                                                 int64_t ld)
{
    (void) size;
    *(struct blas_layout *) m = (struct blas_layout){
        type, rows, cols, ld, CUBLASLT_ORDER_COL, .batch = 1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    *m = malloc(sizeof(**m));
    return cublasLtMatrixLayoutInit_internal(*m, sizeof(**m), type, rows, cols,
                                             ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m)
{
    free(m);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t m, cublasLtMatrixLayoutAttribute_t which,
    const void *value, size_t bytes)
{
    struct blas_layout *layout = (struct blas_layout *) m;

    switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
        memcpy(&layout->order, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        memcpy(&layout->batch, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        memcpy(&layout->batch_stride, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    default:
        blas_wrong("an attribute of a layout that it does not know");
    }
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc,
                                               size_t size,
                                               cublasComputeType_t compute,
                                               cudaDataType_t scale)
{
    (void) size;
    if (compute != CUBLAS_COMPUTE_32F
        && compute != CUBLAS_COMPUTE_32F_FAST_TF32)
        blas_wrong("a product that is not summed in single precision");
    *(struct blas_description *) desc =
        (struct blas_description){.transpose_a = CUBLAS_OP_N,
                                  .transpose_b = CUBLAS_OP_N,
                                  .scale_type = scale,
                                  .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                                  .bias_type = -1,
                                  .aux_type = -1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    *desc = malloc(sizeof(**desc));
    return cublasLtMatmulDescInit_internal(*desc, sizeof(**desc), compute,
                                           scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which,
    const void *value, size_t bytes)
{
    struct blas_description *d = (struct blas_description *) desc;
    const struct {
        cublasLtMatmulDescAttributes_t which;
        void *at;
        size_t bytes;
    } known[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &d->transpose_a, 4},
        {CUBLASLT_MATMUL_DESC_TRANSB, &d->transpose_b, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &d->epilogue, 4},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &d->bias, 8},
        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &d->bias_type, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &d->aux, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &d->aux_ld, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, &d->aux_type, 4},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].which == which && known[i].bytes == bytes) {
            memcpy(known[i].at, value, bytes);
            return CUBLAS_STATUS_SUCCESS;
        }
    blas_wrong("an attribute of a product that it does not know");
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(
    cublasLtMatmulPreference_t preference, size_t size)
{
    (void) size;
    *(struct blas_preference *) preference =
        (struct blas_preference){.alignment = {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(
    cublasLtMatmulPreference_t *preference)
{
    *preference = malloc(sizeof(**preference));
    return cublasLtMatmulPreferenceInit_internal(*preference,
                                                 sizeof(**preference));
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(
    cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t which, const void *value, size_t bytes)
{
    struct blas_preference *p = (struct blas_preference *) preference;
    const int operand = which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;

    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
        memcpy(&p->workspace_bytes, value, bytes);
    else if (operand >= 0 && operand < 4 && bytes == 4)
        memcpy(&p->alignment[operand], value, bytes);
    else if (which != CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        blas_wrong("a preference that it does not know");
    return CUBLAS_STATUS_SUCCESS;
}
