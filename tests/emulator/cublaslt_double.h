#ifndef MTLM_CUBLASLT_DOUBLE_H
#define MTLM_CUBLASLT_DOUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include <cublasLt.h>

/* What the files of cuBLASLt's double (cublaslt_double.c) share. */

/* What programs keep for the library, as this one understands it. */
struct blas_layout {
    cudaDataType type;
    uint64_t rows, cols;
    int64_t ld;
    int32_t order, batch;
    int64_t batch_stride; /* elements */
};

struct blas_description {
    int32_t transpose_a, transpose_b, scale_type;
    uint32_t epilogue;
    void *bias, *aux;
    int64_t aux_ld;
    int32_t bias_type, aux_type; /* -1: D's */
};

struct blas_preference {
    uint64_t workspace_bytes;
    uint32_t alignment[4]; /* of A, B, C, D */
};

/* What a choice of the library holds: what it was promised. */
struct blas_choice {
    uint64_t workspace_bytes;
    uint32_t alignment[4];
};

/* D [m, n] by columns = op(A) [m, k] op(B) [k, n]. */
struct blas_product {
    const struct blas_description *desc;
    const struct blas_layout *a, *b, *c, *d;
    int m, n, k;
    float alpha, beta;
};

/* Ends the program with a sentence. */
void blas_wrong(const char *what) __attribute__((noreturn));

/* ---- cublaslt_choice.c ---- */

/* Counts what has GELU or a bias' gradient as an epilogue:
 * mtlm_double_gelu_wanted(), mtlm_double_bias_gradients_wanted(). */
void blas_count(const struct blas_description *d);

/* Whether a product with an epilogue gets *status instead, now ("ask" or
 * "run"). */
bool blas_refuses(const struct blas_description *d, const char *when,
                  cublasStatus_t *status);

/* ---- cublaslt_epilogue.c ---- */

/* What the manual asks of an epilogue's operands; and that what is called aux
 * is used by the epilogue. */
bool blas_epilogue_suits(const struct blas_product *p);

/* What the library's fast epilogues read and write at a time; a bias' gradient
 * is not among them. */
bool blas_epilogue_aligned(const struct blas_description *d);

/* Of element y [i, j], with beta C, what goes to D. */
double blas_epilogue(const struct blas_product *p, double y, int i, int j);

/* Writes the sums of a row of D, where the epilogue has them. */
void blas_epilogue_sum(const struct blas_product *p, int i, double sum);

/* Writes the sums of what op() makes of a, over its columns, or of b, over its
 * rows, where the epilogue has them. */
void blas_bias_gradient(const struct blas_product *p, const float *a,
                        const float *b);

/* ---- cublaslt_product.c ---- */

/* Element i of numbers of a type, which for all others ends the program. */
float blas_load(const void *p, int64_t i, int32_t type);
void blas_store(void *p, int64_t i, int32_t type, float value);
bool blas_in_device_memory(const void *p);

#endif /* MTLM_CUBLASLT_DOUBLE_H */
