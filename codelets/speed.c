/* Measures how fast a core multiplies matrices. */

#include "config.h"

#include <stdlib.h>

#include "codelets/blas.h"
#include "codelets/speed.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"

/* [ROWS, SIZE] x [SIZE, SIZE]. */
enum { ROWS = 256, SIZE = 1024, TIMES = 5 };

static int64_t run_once(const mtlm_real *a, const mtlm_real *b, mtlm_real *c)
{
    const int64_t begin = mtlm_now_ns();

    mtlm_blas_gemm(false, false, ROWS, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c,
                   SIZE);
    return mtlm_now_ns() - begin;
}

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double mtlm_speed_flops(void)
{
    mtlm_real *a = mtlm_calloc((size_t) ROWS * SIZE, sizeof(*a));
    mtlm_real *b = mtlm_calloc((size_t) SIZE * SIZE, sizeof(*b));
    mtlm_real *c = mtlm_calloc((size_t) ROWS * SIZE, sizeof(*c));
    int64_t ns[TIMES];

    run_once(a, b, c); /* threads and pages of the library */
    for (int i = 0; i < TIMES; i++)
        ns[i] = run_once(a, b, c);
    qsort(ns, TIMES, sizeof(*ns), ascending);
    free(a);
    free(b);
    free(c);
    return 2e9 * ROWS * SIZE * SIZE / (double) ns[TIMES / 2];
}
