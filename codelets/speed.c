/* Measures how fast a core multiplies matrices. */

#include "config.h"

#include <stdlib.h>

#include "codelets/bf16_product.h"
#include "codelets/blas.h"
#include "codelets/speed.h"
#include "runtime/base/clock.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

/* Larger products are hardly faster. */
enum { MOST_ROWS = 512, MOST_HIDDEN = 2560, TIMES = 3 };

/* A product [m, n] x [n, n] of the first elements of a and b. */
struct product {
    bool bf16;
    int64_t m, n;
    mtlm_real *a, *b, *c;
    struct mtlm_scratch scratch;
};

/* Pages that nobody has written are one page of zeros, which caches hold. */
static void fill(mtlm_real *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (mtlm_real) (i % 7 - 3) / 16;
}

static int64_t run_once(struct product *p)
{
    const struct mtlm_bf16_product product = {.m = p->m, .n = p->n, .k = p->n};
    const int64_t begin = mtlm_now_ns();

    if (p->bf16)
        mtlm_bf16_product(&product, (const void *) p->a, (const void *) p->b,
                          NULL, p->c, &p->scratch);
    else
        mtlm_blas_gemm(false, false, p->m, p->n, p->n, p->a, p->n, p->b, p->n,
                       false, p->c, p->n);
    return mtlm_now_ns() - begin;
}

double mtlm_speed_flops(bool bf16, int64_t rows, int64_t hidden)
{
    const int64_t m = rows < MOST_ROWS ? rows : MOST_ROWS;
    const int64_t n = hidden < MOST_HIDDEN ? hidden : MOST_HIDDEN;
    struct product p = {.bf16 = bf16 && mtlm_bf16_product_here(),
                        .m = m,
                        .n = n,
                        .a = mtlm_calloc((size_t) (m * n), sizeof(*p.a)),
                        .b = mtlm_calloc((size_t) (n * n), sizeof(*p.b)),
                        .c = mtlm_calloc((size_t) (m * n), sizeof(*p.c))};
    int64_t ns[TIMES];

    fill(p.a, m * n);
    fill(p.b, n * n);
    run_once(&p); /* threads and pages of the library */
    for (int i = 0; i < TIMES; i++)
        ns[i] = run_once(&p);
    qsort(ns, TIMES, sizeof(*ns), mtlm_compare_int64);
    free(p.a);
    free(p.b);
    free(p.c);
    mtlm_scratch_free(&p.scratch);
    return 2e9 * (double) (m * n * n) / (double) (ns[TIMES / 2] + 1);
}
