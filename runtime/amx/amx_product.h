#ifndef MTLM_AMX_PRODUCT_H
#define MTLM_AMX_PRODUCT_H

/* Products of bf16 matrices by AMX.  Sums are fp32.  32 terms after the other
 * are added as TDPBF16PS does, whatever the number of rows and columns, the
 * layout, the thread and the addresses.  To an fp32 C equal parts of the terms
 * are added, of at most 1024 each.  Denormal numbers count as 0. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/memory.h"

/* C = op(A) op(B) (+ bias) (+ C), row-major: C [m, n], op(A) [m, k],
 * op(B) [k, n], bias [n] or NULL.  Stored rows of A, B and C are lda, ldb and
 * ldc elements apart.  C is fp32 if single, else bf16. */
struct mtlm_amx_product {
    bool trans_a, trans_b;
    bool packed; /* B is as mtlm_amx_product_pack() writes B; C is bf16 */
    bool single; /* without bias */
    bool add;    /* adds to C, else sets C */
    int64_t m, n, k;
    const uint16_t *a, *b, *bias;
    void *c;
    int64_t lda, ldb, ldc;
    /* A product that is added after this one, to the same C, unless NULL: its
     * trans_a, trans_b, k, a, b, lda, ldb and next.  C is fp32. */
    const struct mtlm_amx_product *next;
};

/* Computes C, in this thread.  scratch: memory for parts of A, B and C; an fp32
 * C may pass the caches.  NULL: C is fp32, and the parts are on the stack (160
 * KiB). */
void mtlm_amx_product(const struct mtlm_amx_product *product,
                      struct mtlm_scratch *scratch);

/* Returns about how many bytes of scratch a product of m rows and k terms
 * touches. */
double mtlm_amx_product_bytes(int64_t m, int64_t k);

/* Returns whether mtlm_amx_product_pack() can pack B [k, n]. */
bool mtlm_amx_product_packs(int64_t k, int64_t n);

/* Writes B [k, n], row-major, or stored as its transpose if trans, to
 * packed [n / 32, k / 32, 2, 16, 16, 2]: panels of 32 columns (see
 * amx_kernel.h). */
void mtlm_amx_product_pack(bool trans, int64_t k, int64_t n, const uint16_t *b,
                           uint16_t *packed);

#endif /* MTLM_AMX_PRODUCT_H */
