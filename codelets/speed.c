/* Measures how fast a core multiplies matrices. */

#include "config.h"

#include <stdlib.h>

#include "codelets/blas.h"
#include "codelets/speed.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"

/* Larger products are hardly faster. */
enum { MOST_ROWS = 512, MOST_HIDDEN = 2560, TIMES = 3 };

static int64_t run_once(const mtlm_real *a, const mtlm_real *b, mtlm_real *c,
                        int64_t m, int64_t n)
{
    const int64_t begin = mtlm_now_ns();

    mtlm_blas_gemm(false, false, m, n, n, 1, a, n, b, n, 0, c, n);
    return mtlm_now_ns() - begin;
}

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double mtlm_speed_flops(int64_t rows, int64_t hidden)
{
    const int64_t m = rows < MOST_ROWS ? rows : MOST_ROWS;
    const int64_t n = hidden < MOST_HIDDEN ? hidden : MOST_HIDDEN;
    mtlm_real *a = mtlm_calloc((size_t) (m * n), sizeof(*a));
    mtlm_real *b = mtlm_calloc((size_t) (n * n), sizeof(*b));
    mtlm_real *c = mtlm_calloc((size_t) (m * n), sizeof(*c));
    int64_t ns[TIMES];

    run_once(a, b, c, m, n); /* threads and pages of the library */
    for (int i = 0; i < TIMES; i++)
        ns[i] = run_once(a, b, c, m, n);
    qsort(ns, TIMES, sizeof(*ns), ascending);
    free(a);
    free(b);
    free(c);
    return 2e9 * (double) (m * n * n) / (double) (ns[TIMES / 2] + 1);
}
