/* Products of bf16 numbers against sums in double. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/base/value16.h"
#include "tests/codelets/product_reference.h"

/* Sets *sum to element (i, j) of a b; *size to the sum of the terms' sizes. */
static void multiply(struct matrix a, struct matrix b, int64_t i, int64_t j,
                     int64_t k, double *sum, double *size)
{
    *sum = *size = 0;
    for (int64_t p = 0; p < k; p++) {
        const double term =
            (double) a.at[i * a.rs + p * a.cs] * b.at[p * b.rs + j * b.cs];

        *sum += term;
        *size += fabs(term);
    }
}

void check_product(struct matrix a, struct matrix b, int64_t m, int64_t n,
                   int64_t k, const mtlm_real *bias, const mtlm_real *before,
                   const void *got, bool values)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float x = values ? 0 : ((const float *) got)[i * n + j];
            double want, size;

            if (values)
                mtlm_value16_widen(MTLM_BF16,
                                   (const uint16_t *) got + i * n + j, 1, &x);
            multiply(a, b, i, j, k, &want, &size);
            want += (bias ? bias[j] : 0) + (before ? before[i * n + j] : 0);
            assert_true(fabs(x - want)
                        <= 1e-6 * (size + fabs(want) + 1)
                               + (values ? fabs(want) / 256 : 0));
        }
}
