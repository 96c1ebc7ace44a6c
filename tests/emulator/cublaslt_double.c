/* A stand-in for cuBLASLt on the device double: a reference product on the
 * host that honours layouts, transposes, epilogues and types, and what the
 * library was told about alignment.  Sums are in single precision, what is
 * read and written is rounded to the matrix' type.  With
 * MTLM_DOUBLE_REFUSE_EPILOGUES=ask it proposes no way for any epilogue, with
 * =run it refuses what it has proposed: as the library may.  The status is
 * CUBLAS_STATUS_NOT_SUPPORTED, or N of ask:N and run:N; ask:0 finds nothing.
 *
 * Meanings: cuBLAS manual, 13.0, section 3. */

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <cublasLt.h>

#include "tests/emulator/device_double.h"

struct layout {
    cudaDataType type;
    uint64_t rows, cols;
    int64_t ld;
    int32_t order, batch;
    int64_t batch_stride; /* elements */
};

struct description {
    int32_t transpose_a, transpose_b, scale_type;
    uint32_t epilogue;
    void *bias, *aux;
    int64_t aux_ld;
    int32_t bias_type, aux_type; /* -1: D's */
};

struct preference {
    uint64_t workspace_bytes;
    uint32_t alignment[4]; /* of A, B, C, D */
};

/* What a choice of the library holds: what it was promised. */
struct choice {
    uint64_t workspace_bytes;
    uint32_t alignment[4];
};

_Static_assert(sizeof(struct layout) <= sizeof(cublasLtMatrixLayoutOpaque_t),
               "fits where programs keep it");
_Static_assert(sizeof(struct description) <= sizeof(cublasLtMatmulDescOpaque_t),
               "fits where programs keep it");
_Static_assert(sizeof(struct preference)
                   <= sizeof(cublasLtMatmulPreferenceOpaque_t),
               "fits where programs keep it");
_Static_assert(sizeof(struct choice) <= sizeof(cublasLtMatmulAlgo_t),
               "fits where programs keep it");

__attribute__((noreturn)) static void wrong(const char *what)
{
    fprintf(stderr, "cuBLASLt double: %s\n", what);
    abort();
}

/* ---- handles and descriptions ---- */

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
    *(struct layout *) m =
        (struct layout){type, rows, cols, ld, CUBLASLT_ORDER_COL, .batch = 1};
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
    struct layout *layout = (struct layout *) m;

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
        wrong("an attribute of a layout that it does not know");
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
        wrong("a product that is not summed in single precision");
    *(struct description *) desc =
        (struct description){.transpose_a = CUBLAS_OP_N,
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
    struct description *d = (struct description *) desc;
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
    wrong("an attribute of a product that it does not know");
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(
    cublasLtMatmulPreference_t preference, size_t size)
{
    (void) size;
    *(struct preference *) preference =
        (struct preference){.alignment = {256, 256, 256, 256}};
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
    struct preference *p = (struct preference *) preference;
    const int operand = which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;

    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
        memcpy(&p->workspace_bytes, value, bytes);
    else if (operand >= 0 && operand < 4 && bytes == 4)
        memcpy(&p->alignment[operand], value, bytes);
    else if (which != CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        wrong("a preference that it does not know");
    return CUBLAS_STATUS_SUCCESS;
}

static atomic_long gelu_wanted;

long mtlm_double_gelu_wanted(void)
{
    return atomic_load(&gelu_wanted);
}

/* Each epilogue with GELU has one of these two bits, and no other has. */
static void count_wanted(const struct description *d)
{
    const uint32_t gelu = CUBLASLT_EPILOGUE_GELU;
    const uint32_t gradient =
        CUBLASLT_EPILOGUE_DGELU & ~(uint32_t) CUBLASLT_EPILOGUE_GELU_AUX;

    if (d->epilogue & (gelu | gradient))
        atomic_fetch_add(&gelu_wanted, 1);
}

/* Whether a product with an epilogue gets *status instead, now ("ask" or
 * "run"). */
static bool refuses(const struct description *d, const char *when,
                    cublasStatus_t *status)
{
    const char *refused = getenv("MTLM_DOUBLE_REFUSE_EPILOGUES");

    if (d->epilogue == CUBLASLT_EPILOGUE_DEFAULT || !refused
        || strncmp(refused, when, strlen(when)) != 0)
        return false;
    refused += strlen(when);
    *status = *refused == ':' ? (cublasStatus_t) atoi(refused + 1)
                              : CUBLAS_STATUS_NOT_SUPPORTED;
    return true;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t result[], int *found)
{
    const struct preference *p = (const struct preference *) preference;
    struct choice *choice = (struct choice *) &result[0].algo;
    cublasStatus_t status;

    *found = 0;
    (void) handle, (void) a, (void) b, (void) c, (void) d;
    if (wanted < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    count_wanted((const struct description *) desc);
    if (refuses((const struct description *) desc, "ask", &status))
        return status;
    memset(&result[0], 0, sizeof(result[0]));
    choice->workspace_bytes = p->workspace_bytes;
    memcpy(choice->alignment, p->alignment, sizeof(p->alignment));
    result[0].workspaceSize = p->workspace_bytes;
    result[0].state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- numbers ---- */

static int type_bytes(int32_t type)
{
    if (type != CUDA_R_32F && type != CUDA_R_16BF && type != CUDA_R_16F)
        wrong("a type other than float, bfloat16 and half");
    return type == CUDA_R_32F ? 4 : 2;
}

static float load(const void *p, int64_t i, int32_t type)
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

static void store(void *p, int64_t i, int32_t type, float value)
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

static int64_t place(const struct layout *m, int64_t row, int64_t col,
                     int batch)
{
    return batch * m->batch_stride
           + (m->order == CUBLASLT_ORDER_ROW ? row * m->ld + col
                                             : row + col * m->ld);
}

/* The matrix by columns, without gaps; the caller frees it. */
static float *dense(const void *p, const struct layout *m, int batch)
{
    float *to = malloc(sizeof(*to) * m->rows * m->cols);

    for (uint64_t j = 0; j < m->cols; j++)
        for (uint64_t i = 0; i < m->rows; i++)
            to[i + j * m->rows] = load(p, place(m, i, j, batch), m->type);
    return to;
}

/* ---- the product ---- */

/* D [m, n] by columns = op(A) [m, k] op(B) [k, n]. */
struct product {
    const struct description *desc;
    const struct layout *a, *b, *c, *d;
    int m, n, k;
    float alpha, beta;
};

static double gelu(double x)
{
    return 0.5 * x
           * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));

    return 0.5 * (1 + t)
           + 0.5 * x * (1 - t * t) * 0.7978845608028654
                 * (1 + 3 * 0.044715 * x * x);
}

static int32_t bias_type(const struct product *p)
{
    return p->desc->bias_type < 0 ? (int32_t) p->d->type : p->desc->bias_type;
}

static int32_t aux_type(const struct product *p)
{
    return p->desc->aux_type < 0 ? (int32_t) p->d->type : p->desc->aux_type;
}

/* sums[i] of what op() makes of a, over its columns, or of b, over its rows. */
static void bias_gradient(const struct product *p, const float *x, bool of_a)
{
    const int n = of_a ? p->m : p->n;
    const bool transposed =
        (of_a ? p->desc->transpose_a : p->desc->transpose_b) == CUBLAS_OP_T;
    const bool by_row = of_a == transposed; /* x is [k, n], not [n, k] */

    for (int i = 0; i < n; i++) {
        double sum = 0;

        for (int l = 0; l < p->k; l++)
            sum += by_row ? x[l + (int64_t) i * p->k] : x[i + (int64_t) l * n];
        store(p->desc->bias, i, bias_type(p), sum);
    }
}

/* Another matrix is written or read (the bit that CUBLASLT_EPILOGUE_GELU_AUX
 * and DGELU have in common). */
static bool has_aux(const struct description *d)
{
    return d->epilogue & (CUBLASLT_EPILOGUE_GELU_AUX & CUBLASLT_EPILOGUE_DGELU);
}

static double epilogue(const struct product *p, double y, int i, int j)
{
    const struct description *d = p->desc;
    const int64_t at = i + j * d->aux_ld;

    if (d->epilogue & CUBLASLT_EPILOGUE_BIAS)
        y += load(d->bias, i, bias_type(p));
    if (d->epilogue & CUBLASLT_EPILOGUE_GELU) {
        if (has_aux(d))
            store(d->aux, at, aux_type(p), y);
        y = gelu(y);
    }
    if ((d->epilogue & CUBLASLT_EPILOGUE_DGELU) == CUBLASLT_EPILOGUE_DGELU)
        y *= gelu_slope(load(d->aux, at, aux_type(p)));
    return y;
}

static void finish(const struct product *p, const float *y, const void *c,
                   void *d, int batch)
{
    const bool sums = (p->desc->epilogue & CUBLASLT_EPILOGUE_DGELU_BGRAD)
                      == CUBLASLT_EPILOGUE_DGELU_BGRAD;

    for (int i = 0; i < p->m; i++) {
        double sum = 0;

        for (int j = 0; j < p->n; j++) {
            double z = (double) p->alpha * y[i + (int64_t) j * p->m];

            if (p->beta != 0)
                z += (double) p->beta
                     * load(c, place(p->c, i, j, batch), p->c->type);
            z = epilogue(p, z, i, j);
            store(d, place(p->d, i, j, batch), p->d->type, z);
            sum += z;
        }
        if (sums)
            store(p->desc->bias, i, bias_type(p), sum);
    }
}

static void multiply(const struct product *p, const void *a, const void *b,
                     const void *c, void *d, int batch)
{
    float *da = dense(a, p->a, batch), *db = dense(b, p->b, batch);
    float *y = malloc(sizeof(*y) * p->m * p->n);

    cblas_sgemm(CblasColMajor,
                p->desc->transpose_a == CUBLAS_OP_T ? CblasTrans : CblasNoTrans,
                p->desc->transpose_b == CUBLAS_OP_T ? CblasTrans : CblasNoTrans,
                p->m, p->n, p->k, 1, da, p->a->rows, db, p->b->rows, 0, y,
                p->m);
    if (p->desc->epilogue == CUBLASLT_EPILOGUE_BGRADA)
        bias_gradient(p, da, true);
    if (p->desc->epilogue == CUBLASLT_EPILOGUE_BGRADB)
        bias_gradient(p, db, false);
    finish(p, y, c, d, batch);
    free(y), free(db), free(da);
}

static bool in_device_memory(const void *p)
{
    struct cudaPointerAttributes attributes;

    return cudaPointerGetAttributes(&attributes, p) == cudaSuccess
           && attributes.type == cudaMemoryTypeDevice;
}

/* That each operand is in device memory, and where the library was told. */
static void check_addresses(const struct choice *choice, const void *const p[4])
{
    for (int i = 0; i < 4; i++) {
        if (!in_device_memory(p[i]))
            wrong("a matrix is not in device memory");
        if ((uintptr_t) p[i] % choice->alignment[i])
            wrong("a matrix is not aligned as was said");
    }
}

/* What the manual asks of an epilogue's operands; and that what is called aux
 * is used by the epilogue. */
static bool suits_epilogue(const struct product *p)
{
    static const uint32_t known[] = {
        CUBLASLT_EPILOGUE_DEFAULT,       CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
        CUBLASLT_EPILOGUE_BGRADA,        CUBLASLT_EPILOGUE_BGRADB,
        CUBLASLT_EPILOGUE_DGELU_BGRAD,   CUBLASLT_EPILOGUE_GELU_BIAS,
    };
    const struct description *d = p->desc;
    bool is_known = false;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        is_known |= d->epilogue == known[i];
    if (!is_known)
        wrong("an epilogue that it does not know");
    if (has_aux(d) != (d->aux != NULL))
        wrong("an auxiliary matrix without its epilogue, or the reverse");
    if (d->aux
        && (d->aux_ld % 8 || d->aux_ld < (int64_t) p->d->rows
            || !in_device_memory(d->aux)))
        return false;
    return d->epilogue == CUBLASLT_EPILOGUE_DEFAULT
           || d->epilogue == CUBLASLT_EPILOGUE_DGELU
           || in_device_memory(d->bias);
}

/* What the library's fast epilogues read and write at a time; a bias' gradient
 * is not among them. */
static bool is_aligned(const struct description *d)
{
    return (uintptr_t) d->aux % 16 == 0
           && (!(d->epilogue & CUBLASLT_EPILOGUE_BIAS)
               || (uintptr_t) d->bias % 16 == 0);
}

static bool fits(const struct product *p)
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
    struct product p = {.desc = (const struct description *) desc,
                        .a = (const struct layout *) layout_a,
                        .b = (const struct layout *) layout_b,
                        .c = (const struct layout *) layout_c,
                        .d = (const struct layout *) layout_d,
                        .alpha = *(const float *) alpha,
                        .beta = *(const float *) beta};
    const struct choice *choice = (const struct choice *) algo;
    cublasStatus_t status;

    if (!handle || !fits(&p) || p.desc->scale_type != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!suits_epilogue(&p))
        wrong("an epilogue's operand is not as the manual asks");
    if (!is_aligned(p.desc))
        wrong("an epilogue's operand is not aligned to 16 bytes");
    count_wanted(p.desc);
    if (refuses(p.desc, "run", &status))
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
