#ifndef MTLM_AMX_FP32_H
#define MTLM_AMX_FP32_H

/* Products of fp32 matrices by AMX, as precise as by fp32 instructions: each
 * number is split to three bf16 numbers, and six of their nine products are
 * added (G. Henry, P. T. P. Tang, A. Heinecke, "Leveraging the bfloat16
 * artificial intelligence datatype for higher-precision computations", ARITH
 * 2019, arXiv 1904.06376).
 *
 * Equal parts of the terms are added to C, of at most 768 each.  The number of
 * terms and trans_b alone decide the bits of an element.  Numbers below 2^-110
 * and products below 2^-102 lose bits, for AMX takes numbers below 2^-126 for
 * 0.  Products of infinite numbers, and of those that bf16 rounds to infinity,
 * are not finite. */

#include <stdbool.h>
#include <stdint.h>

/* Computes C = op(A) op(B), or C += op(A) op(B) if add, row-major: C [m, n],
 * op(A) [m, k], op(B) [k, n].  op(A) is A transposed if trans_a, op(B) is B
 * transposed if trans_b; k > 0.  lda, ldb, ldc: elements between stored rows.
 * Computes in this thread.  The thread keeps 1.55 MiB for panels until it ends.
 */
void mtlm_amx_fp32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                   const float *a, int64_t lda, const float *b, int64_t ldb,
                   bool add, float *c, int64_t ldc);

/* Returns about how many bytes of its memory for panels a product touches. */
double mtlm_amx_fp32_bytes(int64_t m, int64_t n, int64_t k);

#endif /* MTLM_AMX_FP32_H */
