#ifndef MTLM_BLAS_H
#define MTLM_BLAS_H

/* Products of fp32 matrices on the CPU, and the library that computes them.
 * First the library is the BLAS that the program is linked with. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* Computes C = op(A) op(B), or C += op(A) op(B) if add, row-major: C [m, n],
 * op(A) [m, k], op(B) [k, n].  op(A) is A transposed if trans_a, op(B) is B
 * transposed if trans_b. lda, ldb, ldc: elements between stored rows.  The
 * library runs one thread, because the workers use all cores. */
void mtlm_blas_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n,
                     int64_t k, const float *a, int64_t lda, const float *b,
                     int64_t ldb, bool add, float *c, int64_t ldc);

/* Computes y += A x, row-major: A [m, n], x [n], y [m].  Reads A once; a matrix
 * product would copy A first. */
void mtlm_blas_sgemv_add(int64_t m, int64_t n, const float *a, const float *x,
                         float *y);

/* The names of libraries.  "default" is the BLAS that the program is linked
 * with; "amx" is our own, for processors with AMX. */
enum { MTLM_BLAS_DEFAULT, MTLM_BLAS_AMX, MTLM_BLAS_NAMES = 7 };
extern const char *const mtlm_blas_name[MTLM_BLAS_NAMES];

/* Whether another name means the default, too. */
bool mtlm_blas_is_default(const char *name);

/* A trial of a library: what the library is, and how fast. */
struct mtlm_blas_trial {
    char version[160]; /* "BLIS 0.9.0" */
    double flops;      /* per second of a core; 0: not measured */
};

/* Opens the library in a child process, compares its products with products of
 * our own and, if `measure`, takes their time.  library: one of the names, or a
 * file.  Returns -1 and MTLM_EXIT_USAGE with a sentence: the library is not
 * there, has no product of matrices, computes wrong products or crashes. */
int mtlm_blas_try(const char *library, bool measure,
                  struct mtlm_blas_trial *trial, struct mtlm_error *err);

/* Makes the library compute the products from here on.  Fails where the library
 * cannot be opened.  Call before other threads start. */
int mtlm_blas_use(const char *library, struct mtlm_error *err);

/* Whether our own products by AMX are in use. */
bool mtlm_blas_by_amx(void);

/* Writes what computes the products to text [bytes]; returns text. */
const char *mtlm_blas_describe(char *text, size_t bytes);

#endif /* MTLM_BLAS_H */
