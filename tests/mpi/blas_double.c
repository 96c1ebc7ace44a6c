/* A BLAS of our own, for tests/mpi/blas.sh.  BLAS_DOUBLE says what is wrong
 * with the library; INTEGER is the type of its sizes. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define RIGHT 0
#define SLOW 1
#define WRONG 2
#define CRASHES 3
#define LEAVES 4
#define HANGS 5
#define REFUSES 6 /* as oneDNN does where memory is short */

#ifndef INTEGER
#define INTEGER int
#endif

#if BLAS_DOUBLE == REFUSES
#define SGEMM static
#else
#define SGEMM
#endif

SGEMM void cblas_sgemm(int order, int trans_a, int trans_b, INTEGER m,
                       INTEGER n, INTEGER k, float alpha, const float *a,
                       INTEGER lda, const float *b, INTEGER ldb, float beta,
                       float *c, INTEGER ldc);
void cblas_sgemv(int order, int trans, INTEGER m, INTEGER n, float alpha,
                 const float *a, INTEGER lda, const float *x, INTEGER by_x,
                 float beta, float *y, INTEGER by_y);

enum { TRANSPOSED = 112 };

static void misbehave(void)
{
    switch (BLAS_DOUBLE) {
    case CRASHES:
        abort();
    case LEAVES:
        exit(0);
    case HANGS:
        for (volatile bool hangs = true; hangs;)
            ;
    default:
        break;
    }
}

/* The first element of a row or column of a matrix, and the step to the next.
 */
struct line {
    const float *first;
    INTEGER step;
};

static float dot(struct line x, struct line y, INTEGER n)
{
    float sum = 0;

    for (INTEGER i = 0; i < n; i++)
        sum += x.first[i * x.step] * y.first[i * y.step];
    return sum;
}

SGEMM void cblas_sgemm(int order, int trans_a, int trans_b, INTEGER m,
                       INTEGER n, INTEGER k, float alpha, const float *a,
                       INTEGER lda, const float *b, INTEGER ldb, float beta,
                       float *c, INTEGER ldc)
{
    const bool ta = trans_a == TRANSPOSED, tb = trans_b == TRANSPOSED;
    const float factor = BLAS_DOUBLE == WRONG ? 1.001F : 1;

    (void) order;
    misbehave();
    for (int again = BLAS_DOUBLE == SLOW ? 2 : 1; again > 0; again--) {
        for (INTEGER i = 0; i < m; i++) {
            const struct line row = {ta ? a + i : a + i * lda, ta ? lda : 1};

            for (INTEGER j = 0; j < n; j++) {
                const struct line column = {tb ? b + j * ldb : b + j,
                                            tb ? 1 : ldb};
                volatile float product = dot(row, column, k);
                float *to = c + i * ldc + j;

                if (again == 1)
                    *to =
                        alpha * factor * product + (beta != 0 ? beta * *to : 0);
            }
        }
    }
}

void cblas_sgemv(int order, int trans, INTEGER m, INTEGER n, float alpha,
                 const float *a, INTEGER lda, const float *x, INTEGER by_x,
                 float beta, float *y, INTEGER by_y)
{
    (void) order;
    (void) trans;
    for (INTEGER i = 0; i < m; i++)
        y[i * by_y] =
            alpha
                * dot((struct line){a + i * lda, 1}, (struct line){x, by_x}, n)
            + beta * y[i * by_y];
}

#if BLAS_DOUBLE == REFUSES
int dnnl_sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
               float alpha, const float *a, int64_t lda, const float *b,
               int64_t ldb, float beta, float *c, int64_t ldc);

int dnnl_sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
               float alpha, const float *a, int64_t lda, const float *b,
               int64_t ldb, float beta, float *c, int64_t ldc)
{
    enum { OUT_OF_MEMORY = 1, LARGE = 64 * 64 * 64 };

    if (m * n * k > LARGE)
        return OUT_OF_MEMORY;
    cblas_sgemm(0, trans_a == 'T' ? TRANSPOSED : 0,
                trans_b == 'T' ? TRANSPOSED : 0, (int) m, (int) n, (int) k,
                alpha, a, (int) lda, b, (int) ldb, beta, c, (int) ldc);
    return 0;
}
#endif
