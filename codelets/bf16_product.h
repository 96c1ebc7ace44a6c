#ifndef MTLM_BF16_PRODUCT_H
#define MTLM_BF16_PRODUCT_H

/* Products of bf16 matrices, on processors that multiply bf16: our own with AMX
 * (runtime/amx/), oneDNN's with AVX512_BF16.  Sums are fp32.  A row of the
 * product has the same bits whatever the number of rows, the thread, and the
 * addresses.  Of an fp32 C, the sizes decide the bits. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/memory.h"

/* What to compute; see mtlm_bf16_product(). */
struct mtlm_bf16_product {
    bool trans_a, trans_b;
    bool single; /* C is fp32, else bf16 */
    bool add;    /* adds to C, else sets C */
    int64_t m, n, k;
    bool packed; /* B is as mtlm_bf16_product_pack() writes B */
};

#if HAVE_ONEDNN && !MTLM_DOUBLE

/* Whether the processor has instructions for bf16 that are faster than fp32's:
 * AMX, or AVX512_BF16 of another maker than Intel.  ONEDNN_MAX_CPU_ISA can
 * forbid instructions; AVX512_CORE_BF16 chooses AVX512_BF16, of Intel, too. */
bool mtlm_bf16_product_here(void);

/* Whether products are by AMX. */
bool mtlm_bf16_product_by_amx(void);

/* Returns a number for how this process multiplies bf16; 0: in fp32, whatever
 * the reason. */
int mtlm_bf16_product_way(void);

/* Makes products of this process go by fp32: the ranks' ways differ.  Call
 * before any product. */
void mtlm_bf16_product_forbid(void);

/* Returns about how many bytes of scratch a product by AMX touches; m, k as
 * below. */
double mtlm_bf16_product_bytes_of_amx(int64_t m, int64_t k);

/* Computes C = op(A) op(B) (+ bias) (+ C), row-major: C [m, n], op(A) [m, k],
 * op(B) [k, n], bias [n] or NULL; stored rows are contiguous.  An fp32 C has
 * no bias and no packed B.  op(A) is A
 * transposed if trans_a, op(B) is B transposed if trans_b.  Runs one thread.
 * Of a packed B, mtlm_bf16_product_pack() wrote all.  Packed and plain products
 * have the same bits.
 * scratch: memory for parts of A, B and sums. */
void mtlm_bf16_product(const struct mtlm_bf16_product *product,
                       const uint16_t *a, const uint16_t *b,
                       const uint16_t *bias, void *c,
                       struct mtlm_scratch *scratch);

/* What mtlm_bf16_product_sum() sums: op(A) [m, k] and op(B) [k, n]. */
struct mtlm_bf16_summand {
    const uint16_t *a, *b;
    int64_t k;
};

/* Computes an fp32 C: the products of count summands, one after the other,
 * added to C if product->add.  Else the first one sets C.  The bits are those
 * of mtlm_bf16_product() on each.  Ignores product->k. */
void mtlm_bf16_product_sum(const struct mtlm_bf16_product *product,
                           const struct mtlm_bf16_summand summand[], int count,
                           float *c, struct mtlm_scratch *scratch);

/* The same without bias on parts of matrices: rows of A, B and C are lda, ldb
 * and ldc elements apart.  C is fp32 (product->single).  All sizes share what
 * oneDNN compiles: also for products of many sizes. */
void mtlm_bf16_product_of_parts(const struct mtlm_bf16_product *product,
                                const uint16_t *a, int64_t lda,
                                const uint16_t *b, int64_t ldb, float *c,
                                int64_t ldc);

/* Writes B [k, n] of product, plain as trans_b says, to packed [k n], for
 * products that mtlm_bf16_product_packs() allows.  Runs one thread. */
void mtlm_bf16_product_pack(const struct mtlm_bf16_product *product,
                            const uint16_t *b, uint16_t *packed,
                            struct mtlm_scratch *scratch);

/* Returns whether the product can read B as mtlm_bf16_product_pack(like) writes
 * B, of the same k and n.  With oneDNN both must prefer one layout of n k
 * elements that is not the plain one.  bias: the product adds a bias. */
bool mtlm_bf16_product_packs(const struct mtlm_bf16_product *product, bool bias,
                             const struct mtlm_bf16_product *like);

/* Writes what multiplies to text [bytes]: "by AMX", "by oneDNN 2.6.3", or
 * "in fp32: " with the reason.  Returns text. */
const char *mtlm_bf16_product_describe(char *text, size_t bytes);

#else

static inline bool mtlm_bf16_product_here(void)
{
    return false;
}

static inline bool mtlm_bf16_product_by_amx(void)
{
    return false;
}

static inline int mtlm_bf16_product_way(void)
{
    return 0;
}

static inline void mtlm_bf16_product_forbid(void)
{
}

/* Never called. */
static inline double mtlm_bf16_product_bytes_of_amx(int64_t m, int64_t k)
{
    (void) m, (void) k;
    return 0;
}

/* Never called. */
static inline void mtlm_bf16_product(const struct mtlm_bf16_product *product,
                                     const uint16_t *a, const uint16_t *b,
                                     const uint16_t *bias, void *c,
                                     struct mtlm_scratch *scratch)
{
    (void) product, (void) a, (void) b, (void) bias, (void) c, (void) scratch;
}

/* Never called. */
static inline void mtlm_bf16_product_pack(
    const struct mtlm_bf16_product *product, const uint16_t *b,
    uint16_t *packed, struct mtlm_scratch *scratch)
{
    (void) product, (void) b, (void) packed, (void) scratch;
}

static inline bool mtlm_bf16_product_packs(
    const struct mtlm_bf16_product *product, bool bias,
    const struct mtlm_bf16_product *like)
{
    (void) product, (void) bias, (void) like;
    return false;
}

static inline const char *mtlm_bf16_product_describe(char *text, size_t bytes)
{
    snprintf(text, bytes, "in fp32: this build has no oneDNN");
    return text;
}

#endif

#endif /* MTLM_BF16_PRODUCT_H */
