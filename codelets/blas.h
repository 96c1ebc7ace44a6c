#ifndef MTLM_CODELETS_BLAS_H
#define MTLM_CODELETS_BLAS_H

/* Products of mtlm_real matrices: runtime/machine/blas.h says what the
 * arguments are.  Double precision, of tests, is always the BLAS of the build.
 */

#include "runtime/base/dtype.h"

#if MTLM_DOUBLE

#include <cblas.h>
#include <stdbool.h>
#include <stdint.h>

static inline void mtlm_blas_gemm(bool trans_a, bool trans_b, int64_t m,
                                  int64_t n, int64_t k, const double *a,
                                  int64_t lda, const double *b, int64_t ldb,
                                  bool add, double *c, int64_t ldc)
{
    cblas_dgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans,
                trans_b ? CblasTrans : CblasNoTrans, m, n, k, 1, a, lda, b, ldb,
                add, c, ldc);
}

static inline void mtlm_blas_gemv_add(int64_t m, int64_t n, const double *a,
                                      const double *x, double *y)
{
    cblas_dgemv(CblasRowMajor, CblasNoTrans, m, n, 1, a, n, x, 1, 1, y, 1);
}

#else

#include "runtime/machine/blas.h"

#define mtlm_blas_gemm mtlm_blas_sgemm
#define mtlm_blas_gemv_add mtlm_blas_sgemv_add

#endif

#endif /* MTLM_CODELETS_BLAS_H */
