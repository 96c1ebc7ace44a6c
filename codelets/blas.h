#ifndef MTLM_BLAS_H
#define MTLM_BLAS_H

/* Products of the CPU's BLAS. */

#include <cblas.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

/* Computes C = alpha op(A) op(B) + beta C, row-major: C [m, n], op(A) [m, k],
 * op(B) [k, n].  op(A) is A transposed if trans_a, op(B) is B transposed if
 * trans_b. lda, ldb, ldc: elements between stored rows.  The BLAS must run one
 * thread, because the workers use all cores. */
static inline void mtlm_blas_gemm(bool trans_a, bool trans_b, int64_t m,
                                  int64_t n, int64_t k, mtlm_real alpha,
                                  const mtlm_real *a, int64_t lda,
                                  const mtlm_real *b, int64_t ldb,
                                  mtlm_real beta, mtlm_real *c, int64_t ldc)
{
#if MTLM_DOUBLE
    cblas_dgemm
#else
    cblas_sgemm
#endif
        (CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans,
         trans_b ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda, b, ldb,
         beta, c, ldc);
}

/* Computes y += A x, row-major: A [m, n], x [n], y [m].  Reads A once; a matrix
 * product would copy A first. */
static inline void mtlm_blas_gemv_add(int64_t m, int64_t n, const mtlm_real *a,
                                      const mtlm_real *x, mtlm_real *y)
{
#if MTLM_DOUBLE
    cblas_dgemv
#else
    cblas_sgemv
#endif
        (CblasRowMajor, CblasNoTrans, m, n, 1, a, n, x, 1, 1, y, 1);
}

#endif /* MTLM_BLAS_H */
