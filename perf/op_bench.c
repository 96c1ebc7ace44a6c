#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codelets/blas.h"
#include "codelets/value.h"
#include "perf/op_bench.h"
#include "runtime/base/standard_output.h"

/* Operands of several calls together are larger than the caches.  They begin
 * where lines begin, as those of a job do (runtime/machine/arena.h). */
enum { COLD_BYTES = 128 << 20, SETS_AT_MOST = 64, SAMPLES = 9, LINE = 64 };

struct set {
    void *ptr[MTLM_MAX_OPERANDS];
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Positive and of ordinary size, so that sums, norms and logarithms of them
 * are legal everywhere. */
static void *new_operand(enum mtlm_dtype dtype, int64_t n,
                         const struct bench *bench)
{
    const size_t bytes = n * mtlm_dtype_bytes(dtype);
    char *data = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    uint32_t random = 1;

    if (!data)
        mtlm_out_of_memory(bytes);
    for (int64_t i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        if (dtype == MTLM_REAL)
            ((mtlm_real *) data)[i] = 0.1f + (random >> 8) * 0x1p-24f;
        else if (dtype == MTLM_I32)
            ((int32_t *) data)[i] = bench->below > 0
                                        ? (int32_t) (random >> 8) % bench->below
                                        : bench->equal_to;
        else if (dtype == MTLM_F64)
            ((double *) data)[i] = 1;
        else
            ((uint16_t *) data)[i] = 0x3c00; /* fp16: 1, bf16: 1 / 128 */
    }
    return data;
}

static double gemm_rate(int64_t m, int64_t n, int64_t k)
{
    const struct bench none = {0};
    mtlm_real *a = new_operand(MTLM_REAL, m * k, &none);
    mtlm_real *b = new_operand(MTLM_REAL, n * k, &none);
    mtlm_real *c = new_operand(MTLM_REAL, m * n, &none);
    double best = 1e9;

    for (int i = 0; i < SAMPLES; i++) {
        double start = cpu_seconds();

        mtlm_blas_gemm(false, true, m, n, k, 1, a, k, b, k, 0, c, n);
        start = cpu_seconds() - start;
        best = start < best ? start : best;
    }
    free(a), free(b), free(c);
    return 2.0 * m * n * k / best * 1e-9;
}

static void copy(mtlm_real *restrict z, const mtlm_real *restrict x, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i];
}

static void triad(mtlm_real *restrict z, const mtlm_real *restrict x,
                  const mtlm_real *restrict y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i] + 0.5f * y[i];
}

static void update(mtlm_real *restrict z, const mtlm_real *restrict x,
                   int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] += x[i];
}

static mtlm_real add_up(const mtlm_real *x, int64_t n)
{
    mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

/* GB/s of arrays that no cache holds. */
static void memory_rates(struct bench_rates *rates)
{
    const struct bench none = {0};
    const int64_t n = COLD_BYTES / sizeof(mtlm_real);
    mtlm_real *x = new_operand(MTLM_REAL, n, &none);
    mtlm_real *y = new_operand(MTLM_REAL, n, &none);
    mtlm_real *z = new_operand(MTLM_REAL, n, &none);
    double best[4] = {1e9, 1e9, 1e9, 1e9};

    for (int i = 0; i < 4 * SAMPLES; i++) {
        double start = cpu_seconds();

        if (i % 4 == 0)
            copy(z, x, n);
        else if (i % 4 == 1)
            triad(z, x, y, n);
        else if (i % 4 == 2)
            update(z, x, n);
        else
            z[0] = add_up(x, n); /* stored, or the loop would be left out */
        start = cpu_seconds() - start;
        best[i % 4] = start < best[i % 4] ? start : best[i % 4];
    }
    free(x), free(y), free(z);
    rates->copy_gbs = 2e-9 * COLD_BYTES / best[0];
    rates->triad_gbs = 3e-9 * COLD_BYTES / best[1];
    rates->traffic_gbs =
        greater(greater(1.5 * rates->copy_gbs, 4 / 3. * rates->triad_gbs),
                3e-9 * COLD_BYTES / best[2]);
    rates->read_gbs = 1e-9 * COLD_BYTES / best[3];
}

/* Bytes that a call moves for operands that it writes, or for the others. */
static double moved(const struct mtlm_call *call, bool written)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    double bytes = 0;

    for (int i = 0; i < op->n_operands; i++)
        if ((op->access[i] != MTLM_R) == written)
            bytes += (written ? 2.0 : 1.0) * mtlm_shape_elems(&call->shape[i])
                     * mtlm_dtype_bytes(mtlm_call_dtype(call, i));
    return bytes;
}

/* Bytes that a call moves. */
static double traffic(const struct mtlm_call *call)
{
    return moved(call, false) + moved(call, true);
}

/* Whether the call writes next to nothing of what it moves. */
static bool reads_only(const struct mtlm_call *call)
{
    return moved(call, true) < 0.1 * traffic(call);
}

struct bench_rates bench_rates(int64_t m, int64_t n, int64_t k)
{
    struct bench_rates rates = {.gflops = gemm_rate(m, n, k)};

    memory_rates(&rates);
    return rates;
}

static int sets_for(const struct mtlm_call *call)
{
    const double sets = COLD_BYTES / mtlm_call_bytes(call) + 1;

    return sets < SETS_AT_MOST ? sets : SETS_AT_MOST;
}

/* Least seconds per call; each call has operands that the last ones did not
 * touch. */
static double seconds_of(const struct mtlm_call *call, const struct set *set,
                         int sets)
{
    static struct mtlm_scratch scratch, wide;
    const struct mtlm_context context = {
        .share = 1, .scratch = &scratch, .wide = &wide};
    double best = 1e9;

    for (int i = 0; i <= SAMPLES; i++) {
        double start = cpu_seconds();

        for (int s = 0; s < sets; s++)
            mtlm_value_run_cpu(set[s].ptr, call, &context);
        start = (cpu_seconds() - start) / sets;
        best = i > 0 && start < best ? start : best;
    }
    return best;
}

void bench_head(void)
{
    puts("| operation | x | ms | GF/s | GB/s | floor, ms | of the floor |\n"
         "|---|---|---|---|---|---|---|");
}

void bench_row(const struct bench *bench, const struct bench_rates *rates)
{
    const struct mtlm_op *op = mtlm_ops[bench->call.kind];
    struct mtlm_call call = bench->call;
    struct set set[SETS_AT_MOST];
    struct mtlm_error err;
    double seconds, flops, bytes, floor_s, floor_by_flops;
    char shape[96];
    int sets;

    if (mtlm_call_infer(&call, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    sets = sets_for(&call);
    for (int s = 0; s < sets; s++)
        for (int i = 0; i < op->n_operands; i++)
            set[s].ptr[i] =
                new_operand(mtlm_call_dtype(&call, i),
                            mtlm_shape_elems(&call.shape[i]), bench);
    seconds = seconds_of(&call, set, sets);
    for (int s = 0; s < sets; s++)
        for (int i = 0; i < op->n_operands; i++)
            free(set[s].ptr[i]);
    flops = bench->flops < 0   ? 0
            : bench->flops > 0 ? bench->flops
            : op->flops        ? op->flops(&call)
                               : 0;
    bytes = bench->bytes > 0 ? bench->bytes : traffic(&call);
    floor_s = bytes * 1e-9
              / (reads_only(&call) ? rates->read_gbs : rates->traffic_gbs);
    floor_by_flops = flops / rates->gflops * 1e-9;
    floor_s = floor_by_flops > floor_s ? floor_by_flops : floor_s;
    printf("| %s%s%s | %s | %.3f | %.1f | %.1f | %.3f | %.0f %% |\n", op->name,
           bench->note ? ", " : "", bench->note ? bench->note : "",
           mtlm_shape_str(&call.shape[0], shape), seconds * 1e3,
           flops / seconds * 1e-9, bytes / seconds * 1e-9, floor_s * 1e3,
           100 * floor_s / seconds);
    mtlm_standard_output_flush();
}
