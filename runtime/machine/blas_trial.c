/* Tries a BLAS in a child process: are its products right, how fast are they?
 */

#include "config.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/base/memory.h"
#include "runtime/machine/attempt.h"
#include "runtime/machine/blas.h"

/* Sizes of the products that are compared, all different and odd. */
enum { M = 37, N = 29, K = 41, LD = 43 };

/* Sizes of the products whose time is taken: the MLP of a layer of GPT-2 124M
 * with 256 tokens.  Fewer tell less of the speed of many.  A slow library is
 * measured with FEW_ROWS. */
enum {
    FEW_ROWS = 8,
    ROWS = 256,
    WIDTH = 768,
    WIDE = 3072,
    LAYERS = 5,
    TIMES = 8
};
static const double slow_seconds = 0.03;

/* Seconds after which no further products begin. */
static const double enough_seconds = 0.5;

/* The child may take so much processor time. */
enum { SECONDS = 2 };

/* Shared with the child. */
struct report {
    const char *library;
    bool measure, wrong, ended;
    int failed;
    struct mtlm_error err;
    struct mtlm_blas_trial trial;
};

static void fill(float *x, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525U + 1013904223U;
        x[i] = (float) (seed >> 8) / (1 << 24) - (float) 0.5;
    }
}

/* Whether the product [M, N] is right: transposed as given, added to C or not,
 * with rows that are longer than the matrices.  Where the product is not added,
 * C holds no numbers before. */
static bool is_right(bool trans_a, bool trans_b, bool add)
{
    static float a[LD * LD], b[LD * LD], c[LD * LD], before[LD * LD];

    fill(a, LD * LD, 1);
    fill(b, LD * LD, 2);
    fill(c, LD * LD, 3);
    for (int i = 0; i < M && !add; i++)
        for (int j = 0; j < N; j++)
            c[i * LD + j] = NAN;
    memcpy(before, c, sizeof(c));
    mtlm_blas_sgemm(trans_a, trans_b, M, N, K, a, LD, b, LD, add, c, LD);
    for (int i = 0; i < LD; i++) {
        for (int j = 0; j < LD; j++) {
            double sum = before[i * LD + j];

            if (i < M && j < N) {
                sum = add ? sum : 0;
                for (int k = 0; k < K; k++)
                    sum += (double) a[trans_a ? k * LD + i : i * LD + k]
                           * b[trans_b ? j * LD + k : k * LD + j];
            }
            if (!(fabs(c[i * LD + j] - sum) <= 1e-5))
                return false;
        }
    }
    return true;
}

/* The same for the product of a matrix and a vector. */
static bool is_vector_right(void)
{
    float a[M * K], x[K], y[M];

    fill(a, M * K, 1);
    fill(x, K, 2);
    memset(y, 0, sizeof(y));
    mtlm_blas_sgemv_add(M, K, a, x, y);
    for (int i = 0; i < M; i++) {
        double sum = 0;

        for (int k = 0; k < K; k++)
            sum += (double) a[i * K + k] * x[k];
        if (!(fabs(y[i] - sum) <= 1e-5))
            return false;
    }
    return true;
}

/* Memory of the products: w, dw [LAYERS, WIDE, WIDTH].  Layers take turns, as
 * those of a model do: they have 94 MB, more than most caches hold. */
struct matrices {
    float *x, *y, *w, *dw;
};

/* Returns the seconds of three products with `rows` tokens: forward, gradient
 * of the input, gradient of the weights. */
static double measure_products(const struct matrices *m, int rows, int layer)
{
    const double begin = mtlm_attempt_seconds();
    const float *w = m->w + layer * WIDE * WIDTH;

    mtlm_blas_sgemm(false, true, rows, WIDE, WIDTH, m->x, WIDTH, w, WIDTH,
                    false, m->y, WIDE);
    mtlm_blas_sgemm(false, false, rows, WIDTH, WIDE, m->y, WIDE, w, WIDTH,
                    false, m->x, WIDTH);
    mtlm_blas_sgemm(true, false, WIDE, WIDTH, rows, m->y, WIDE, m->x, WIDTH,
                    true, m->dw + layer * WIDE * WIDTH, WIDTH);
    return mtlm_attempt_seconds() - begin;
}

/* Returns how many threads have worked since the clocks stood so: 1, unless the
 * library has threads of its own.  The clock of the process is coarse. */
static double count_threads(double thread_begin, double process_begin)
{
    const double thread = mtlm_attempt_seconds() - thread_begin;
    const double process = (double) clock() / CLOCKS_PER_SEC - process_begin;

    return process > 1.2 * thread ? process / thread : 1;
}

/* Returns the seconds of measure_products() at its best.  Stops when the child
 * has used a part of its time. */
static double measure_best(const struct matrices *m, int rows)
{
    const double thread = mtlm_attempt_seconds();
    const double process = (double) clock() / CLOCKS_PER_SEC;
    double best = INFINITY;

    for (int i = 1;
         i <= TIMES && mtlm_attempt_seconds() < thread + enough_seconds; i++)
        best = fmin(best, measure_products(m, rows, i % LAYERS));
    return best * count_threads(thread, process);
}

/* Returns floating-point operations per second of one thread; 0 where memory
 * does not hold the matrices. */
static double measure_flops(void)
{
    enum { WEIGHTS = LAYERS * WIDE * WIDTH };
    const int64_t numbers = ROWS * (WIDTH + WIDE) + 2 * WEIGHTS;
    float *memory = malloc(numbers * sizeof(*memory));
    struct matrices m;
    int rows = FEW_ROWS;
    double best;

    if (!memory)
        return 0;
    m = (struct matrices){.x = memory,
                          .y = memory + ROWS * WIDTH,
                          .w = memory + ROWS * (WIDTH + WIDE),
                          .dw = memory + numbers - WEIGHTS};
    fill(m.x, ROWS * WIDTH, 1);
    fill(m.w, WEIGHTS, 2);
    for (int64_t i = 0; i < WEIGHTS; i++)
        m.w[i] /= 16; /* so products do not grow */
    fill(m.dw, WEIGHTS, 3);
    best = measure_products(&m, rows, 0);
    if (best < slow_seconds) {
        rows = ROWS;
        best = measure_best(&m, rows);
    }
    free(memory);
    return 6.0 * rows * WIDE * WIDTH / best;
}

static void try_library(void *context)
{
    struct report *report = context;

    report->failed = mtlm_blas_use(report->library, &report->err);
    if (report->failed == 0) {
        for (int i = 0; i < 8; i++)
            report->wrong |= !is_right(i & 1, i & 2, i & 4);
        report->wrong |= !is_vector_right();
        mtlm_blas_describe(report->trial.version,
                           sizeof(report->trial.version));
        if (report->measure && !report->wrong)
            report->trial.flops = measure_flops();
    }
    report->ended = true;
}

/* Says why a trial failed; returns 0 where it did not. */
static int judge(const struct report *report, int number,
                 struct mtlm_error *err)
{
    const char *library = report->library;

    if (report->failed) {
        *err = report->err;
        return -1;
    }
    if (number < 0) {
        mtlm_attempt_refused("the library", err);
        return mtlm_error_prefix(err, "--blas %s", library);
    }
    if (number == SIGPROF || number == SIGALRM)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--blas %s: small products of matrices take longer than %d s%s",
            library,
            number == SIGPROF ? SECONDS : MTLM_ATTEMPT_PATIENCE * SECONDS,
            number == SIGPROF ? " of processor time" : "");
    if (number)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas %s: its product of matrices fails: %s",
                              library, strsignal(number));
    if (!report->ended)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas %s: the library ends the process",
                              library);
    if (report->wrong)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas %s: its products of matrices are wrong",
                              library);
    return 0;
}

int mtlm_blas_try(const char *library, bool measure,
                  struct mtlm_blas_trial *trial, struct mtlm_error *err)
{
    struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int rc;

    if (report == MAP_FAILED)
        mtlm_out_of_memory(sizeof(*report));
    report->library = library;
    report->measure = measure;
    rc = judge(report, mtlm_attempt(try_library, report, SECONDS), err);
    *trial = report->trial;
    munmap(report, sizeof(*report));
    return rc;
}
