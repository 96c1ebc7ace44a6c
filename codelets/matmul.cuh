#ifndef MTLM_MATMUL_CUH
#define MTLM_MATMUL_CUH

#include <stdint.h>

#include "codelets/op.h"
#include "runtime/machine/device.h"

/* Products of matrices by cuBLASLt.  It counts matrices by columns, so that
 * a row-major [r, c] is its c x r, not transposed. */

/* A matrix as the library sees it, without gaps between its columns. */
struct mtlm_matrix {
    const void *data; /* on the device */
    int64_t rows, cols;
    bool transpose;
    enum mtlm_dtype dtype; /* MTLM_REAL, MTLM_BF16 or MTLM_F16 */
};

/* What the library does besides: */
enum mtlm_epilogue {
    MTLM_PLAIN,
    MTLM_BIAS, /* adds bias [rows of c] to every column of c */
    /* Writes to bias [columns of c] the sums over the columns of op(b)^T, which
     * are the gradient of a bias, in c's type. */
    MTLM_BIAS_GRADIENT,
    /* Adds the bias, writes that to aux, c = gelu(that): the tanh form. */
    MTLM_BIAS_GELU,
    MTLM_GELU_GRADIENT, /* c = gelu'(aux) op(a) op(b) */
};

/* c = op(a) op(b) + beta c, where op transposes as a and b say: sums in
 * single precision, never TF32, whatever the types. */
struct mtlm_product {
    struct mtlm_matrix a, b, c;
    float beta;
    enum mtlm_epilogue epilogue;
    const void *bias;
    const void *aux;        /* shape and type of c */
    size_t workspace_bytes; /* of the device's workspace, from its start */
};

/* Enqueues p on the device's stream.  What the library proposes for a product
 * is asked for once per thread and then kept: the same shapes, types and
 * alignments give the same bits again, since nothing is summed in an order
 * that could change.
 *
 * Returns NULL, or with nothing enqueued why it cannot be done, in words that
 * last until this thread's next call:
 *
 *   bias or aux are not aligned to 16 bytes, or there is aux, and c's rows are
 *       not a multiple of 8;
 *   the library has no algorithm, or says CUBLAS_STATUS_NOT_SUPPORTED,
 *       CUBLAS_STATUS_INVALID_VALUE or CUBLAS_STATUS_ARCH_MISMATCH, when asked
 *       for one or when given p.
 *
 * Then the caller does without the epilogue.  For MTLM_PLAIN there is no other
 * way: the program ends with a sentence, as it does for any other status
 * whatever the epilogue. */
const char *mtlm_matmul(const struct mtlm_device *device,
                        const struct mtlm_product *p);

#endif /* MTLM_MATMUL_CUH */
