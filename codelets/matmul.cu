/* Products by cuBLASLt: descriptors and choices of algorithm, kept per thread.
 * Host code only. */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "codelets/matmul.cuh"
#include "runtime/base/error.h"
#include "runtime/machine/cublaslt.h"

static void check(cublasStatus_t status, const char *what, int line)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        mtlm_fatal(__FILE__, line, "%s: %s", what,
                   mtlm_cublaslt()->GetStatusString(status));
}
/* Calls a function of cuBLASLt, which must succeed. */
#define CALL(name, ...)                                                        \
    check(mtlm_cublaslt()->name(__VA_ARGS__), "cublasLt" #name, __LINE__)

/* What the choice of an algorithm depends on.  Keys are compared as bytes. */
struct key {
    int64_t rows, cols, depth;
    uint64_t workspace_bytes;
    cublasLtHandle_t blas; /* identifies the GPU */
    uint8_t dtype[3];      /* of a, b, c */
    uint8_t transpose[2];  /* of a, b */
    uint8_t epilogue;
    uint8_t alignment[5]; /* of a, b, c, bias, aux: logarithms of bytes */
    uint8_t unused[5];
};
static_assert(sizeof(struct key) == 56,
              "no padding: keys are compared as such");

/* Opaque descriptors by value need no allocation and no destruction. */
struct plan {
    struct key key;
    char refusal[80]; /* the library's reason to refuse, else empty */
    cublasLtMatmulDescOpaque_t desc;
    cublasLtMatrixLayoutOpaque_t a, b, c;
    cublasLtMatmulAlgo_t algo;
};

/* Plans of each thread that drives a GPU: no other thread writes a pointer into
 * a descriptor in use.  A model has some dozens of products; a new product
 * replaces the oldest if the table is full. */
static thread_local struct {
    struct plan plan[128];
    int count, next;
} plans;

/* Returns log2 of the alignment of an address; at most 256 bytes. */
static int alignment_of(const void *data)
{
    int log2 = 0;

    while (log2 < 8 && (uintptr_t) data % (2 << log2) == 0)
        log2++;
    return log2;
}

static cudaDataType_t type_of(enum mtlm_dtype dtype)
{
    switch (dtype) {
    case MTLM_BF16:
        return CUDA_R_16BF;
    case MTLM_F16:
        return CUDA_R_16F;
    default:
        return CUDA_R_32F;
    }
}

static struct key key_of(const struct mtlm_device *device,
                         const struct mtlm_product *p)
{
    struct key key;

    memset(&key, 0, sizeof(key));
    key.rows = p->c.rows, key.cols = p->c.cols;
    key.depth = p->a.transpose ? p->a.rows : p->a.cols;
    key.workspace_bytes = p->workspace_bytes;
    key.blas = device->blas;
    key.epilogue = p->epilogue;
    key.dtype[0] = p->a.dtype, key.dtype[1] = p->b.dtype;
    key.dtype[2] = p->c.dtype;
    key.transpose[0] = p->a.transpose, key.transpose[1] = p->b.transpose;
    key.alignment[0] = alignment_of(p->a.data);
    key.alignment[1] = alignment_of(p->b.data);
    key.alignment[2] = alignment_of(p->c.data);
    key.alignment[3] = alignment_of(p->bias);
    key.alignment[4] = alignment_of(p->aux);
    return key;
}

template <typename T>
static void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which,
                T value)
{
    CALL(MatmulDescSetAttribute, desc, which, &value, sizeof(value));
}

template <typename T>
static void set(cublasLtMatmulPreference_t preference,
                cublasLtMatmulPreferenceAttributes_t which, T value)
{
    CALL(MatmulPreferenceSetAttribute, preference, which, &value,
         sizeof(value));
}

static void describe(const struct mtlm_matrix *m,
                     cublasLtMatrixLayoutOpaque_t *layout)
{
    CALL(MatrixLayoutInit_internal, layout, sizeof(*layout), type_of(m->dtype),
         m->rows, m->cols, m->rows);
}

/* Sets the addresses of a call's epilogue, on which the choice depends too. */
static void point(const struct mtlm_product *p, struct plan *plan)
{
    if (p->bias)
        set(&plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->bias);
    if (p->aux)
        set(&plan->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p->aux);
}

static void describe_product(const struct mtlm_product *p, struct plan *plan)
{
    static const cublasLtEpilogue_t epilogue[] = {
        CUBLASLT_EPILOGUE_DEFAULT,       /* MTLM_PLAIN */
        CUBLASLT_EPILOGUE_BIAS,          /* MTLM_BIAS */
        CUBLASLT_EPILOGUE_BGRADB,        /* MTLM_BIAS_GRADIENT */
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, /* MTLM_BIAS_GELU */
        CUBLASLT_EPILOGUE_DGELU,         /* MTLM_GELU_GRADIENT */
    };

    CALL(MatmulDescInit_internal, &plan->desc, sizeof(plan->desc),
         CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(&plan->desc, CUBLASLT_MATMUL_DESC_TRANSA,
        p->a.transpose ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(&plan->desc, CUBLASLT_MATMUL_DESC_TRANSB,
        p->b.transpose ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(&plan->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue[p->epilogue]);
    if (p->aux)
        set(&plan->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p->c.rows);
    point(p, plan);
    describe(&p->a, &plan->a);
    describe(&p->b, &plan->b);
    describe(&p->c, &plan->c);
}

/* Restricts the library's proposals.  Split sums are added up in a step of
 * their own, in a fixed order and in single precision.  An epilogue that reads
 * the sums gets no split ones: cuBLASLt 13.1 rounds these to 16 bits before it
 * adds a bias, where operands are not aligned (seen on an H200). */
static void describe_preference(const struct key *key,
                                cublasLtMatmulPreferenceOpaque_t *preference)
{
    const bool reads =
        key->epilogue != MTLM_PLAIN && key->epilogue != MTLM_BIAS_GRADIENT;
    const uint32_t splits = reads ? CUBLASLT_REDUCTION_SCHEME_NONE
                                  : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

    CALL(MatmulPreferenceInit_internal, preference, sizeof(*preference));
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        key->workspace_bytes);
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, splits);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        (uint32_t) 1 << key->alignment[0]);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        (uint32_t) 1 << key->alignment[1]);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        (uint32_t) 1 << key->alignment[2]);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        (uint32_t) 1 << key->alignment[2]);
}

/* Returns whether the library refuses the product.  cublasLt.h, at
 * cublasLtMatmul(), has three statuses for an epilogue that does not support
 * the types, the shapes or the GPU.  Without an epilogue, two of them are
 * errors. */
static bool is_refusal(cublasStatus_t status, const struct plan *plan)
{
    switch (status) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return true;
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return plan->key.epilogue != MTLM_PLAIN;
    default:
        return false;
    }
}

static void refuse(struct plan *plan, const char *what, const char *status)
{
    snprintf(plan->refusal, sizeof(plan->refusal), "cuBLASLt %s: %s", what,
             status);
}

static void choose(const struct mtlm_device *device, struct plan *plan)
{
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t result = {};
    cublasStatus_t status;
    int found = 0;

    plan->refusal[0] = '\0';
    describe_preference(&plan->key, &preference);
    status = mtlm_cublaslt()->MatmulAlgoGetHeuristic(
        device->blas, &plan->desc, &plan->a, &plan->b, &plan->c, &plan->c,
        &preference, 1, &result, &found);
    if (status == CUBLAS_STATUS_SUCCESS && found > 0)
        status = result.state;
    else if (status == CUBLAS_STATUS_SUCCESS)
        refuse(plan, "proposes nothing", "no algorithm found");
    if (is_refusal(status, plan))
        refuse(plan, "proposes nothing",
               mtlm_cublaslt()->GetStatusName(status));
    else
        check(status, "cublasLtMatmulAlgoGetHeuristic", __LINE__);
    plan->algo = result.algo;
}

static struct plan *plan_for(const struct mtlm_device *device,
                             const struct mtlm_product *p)
{
    const int size = sizeof(plans.plan) / sizeof(*plans.plan);
    const struct key key = key_of(device, p);
    struct plan *plan;

    for (int i = 0; i < plans.count; i++)
        if (memcmp(&plans.plan[i].key, &key, sizeof(key)) == 0)
            return &plans.plan[i];
    plan = &plans.plan[plans.next];
    plans.next = (plans.next + 1) % size;
    if (plans.count < size)
        plans.count++;
    plan->key = key;
    describe_product(p, plan);
    choose(device, plan);
    return plan;
}

/* cuBLASLt's fast epilogues access 16 bytes at a time; columns of aux must have
 * a multiple of 8 elements. */
static bool is_aligned(const struct mtlm_product *p)
{
    return (uintptr_t) p->bias % 16 == 0 && (uintptr_t) p->aux % 16 == 0
           && (!p->aux || p->c.rows % 8 == 0);
}

const char *mtlm_matmul(const struct mtlm_device *device,
                        const struct mtlm_product *p)
{
    const float alpha = 1;
    cublasStatus_t status;
    struct plan *plan;

    if (!is_aligned(p))
        return "operands not aligned for cuBLASLt";
    plan = plan_for(device, p);
    if (!plan->refusal[0]) {
        point(p, plan);
        status = mtlm_cublaslt()->Matmul(
            device->blas, &plan->desc, &alpha, p->a.data, &plan->a, p->b.data,
            &plan->b, &p->beta, p->c.data, &plan->c, (void *) p->c.data,
            &plan->c, &plan->algo, device->workspace, p->workspace_bytes,
            device->stream);
        /* The library may refuse its own proposal with an epilogue. */
        if (is_refusal(status, plan))
            refuse(plan, "refuses", mtlm_cublaslt()->GetStatusName(status));
        else
            check(status, "cublasLtMatmul", __LINE__);
    }
    if (plan->refusal[0] && p->epilogue == MTLM_PLAIN)
        mtlm_fatal(
            __FILE__, __LINE__,
            "cuBLASLt cannot compute the product %lld x %lld by %lld: %s",
            (long long) plan->key.rows, (long long) plan->key.depth,
            (long long) plan->key.cols, plan->refusal);
    return plan->refusal[0] ? plan->refusal : NULL;
}
