#ifndef MTLM_TESTS_PRODUCT_REFERENCE_H
#define MTLM_TESTS_PRODUCT_REFERENCE_H

/* Products of bf16 numbers against sums in double. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

/* An operand: element (row, col) is at[row * rs + col * cs]. */
struct matrix {
    const mtlm_real *at;
    int64_t rs, cs;
};

/* Checks a product [m, n], to which before (or NULL) and a row of bias (or
 * NULL) were added: within fp32's rounding, and bf16's if values. */
void check_product(struct matrix a, struct matrix b, int64_t m, int64_t n,
                   int64_t k, const mtlm_real *bias, const mtlm_real *before,
                   const void *got, bool values);

#endif /* MTLM_TESTS_PRODUCT_REFERENCE_H */
