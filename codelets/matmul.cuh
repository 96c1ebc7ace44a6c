#ifndef MTLM_MATMUL_CUH
#define MTLM_MATMUL_CUH

/* Products of matrices by cuBLASLt.  cuBLASLt counts matrices by columns: a
 * row-major [r, c] is its c x r, not transposed. */

#include <stdint.h>

#include "codelets/op.h"
#include "runtime/machine/device.h"

/* A matrix as cuBLASLt sees it, without gaps between columns. */
struct mtlm_matrix {
    const void *data; /* on the device */
    int64_t rows, cols;
    bool transpose;
    enum mtlm_dtype dtype; /* MTLM_REAL, MTLM_BF16 or MTLM_F16 */
};

/* What cuBLASLt computes besides the product. */
enum mtlm_epilogue {
    MTLM_PLAIN,
    MTLM_BIAS, /* adds bias [rows of c] to every column of c */
    /* Writes the sums over the columns of op(b)^T to bias [columns of c], in
     * c's type: the gradient of a bias. */
    MTLM_BIAS_GRADIENT,
    /* Adds the bias, writes the sum to aux, c = gelu(sum): the tanh form. */
    MTLM_BIAS_GELU,
    MTLM_GELU_GRADIENT, /* c = gelu'(aux) op(a) op(b) */
};

/* c = op(a) op(b) + beta c; op transposes as a and b say.  Sums in single
 * precision, never TF32, for all types. */
struct mtlm_product {
    struct mtlm_matrix a, b, c;
    float beta;
    enum mtlm_epilogue epilogue;
    const void *bias;
    const void *aux;        /* shape and type of c */
    size_t workspace_bytes; /* of the device's workspace, from its start */
};

/* Enqueues p on the device's stream.  The function asks the library for an
 * algorithm once per product and thread.  Equal shapes, types and alignments
 * give equal bits: no order of summation changes.
 *
 * Returns NULL.  If the library cannot compute p, enqueues nothing and returns
 * the reason, valid until this thread's next call:
 *
 *   bias or aux are not aligned to 16 bytes, or there is aux, and c's rows are
 *       not a multiple of 8;
 *   the library has no algorithm, or says CUBLAS_STATUS_NOT_SUPPORTED,
 *       CUBLAS_STATUS_INVALID_VALUE or CUBLAS_STATUS_ARCH_MISMATCH, when asked
 *       for one or when given p.
 *
 * The caller then does without the epilogue.  With MTLM_PLAIN the program ends
 * with a message instead, as for any other status. */
const char *mtlm_matmul(const struct mtlm_device *device,
                        const struct mtlm_product *p);

#endif /* MTLM_MATMUL_CUH */
