#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/blas.h"
#include "codelets/dropout.h"
#include "codelets/value.h"
#include "codelets/vector_math.h"
#include "codelets/xent.h"
#include "perf/op_bench.h"
#include "perf/team.h"
#include "runtime/base/round_up.h"
#include "runtime/base/standard_output.h"

/* Operands of several calls together are larger than the caches.  They begin
 * where lines begin, as those of a job do (runtime/machine/arena.h). */
enum { COLD_BYTES = 128 << 20, SETS_AT_MOST = 64, LINE = 64 };

/* Positive and of ordinary size, so that sums, norms and logarithms of them
 * are legal everywhere. */
static void *new_operand(enum mtlm_dtype dtype, int64_t n,
                         const struct bench *bench)
{
    const size_t bytes = n * mtlm_dtype_bytes(dtype);
    char *data = aligned_alloc(LINE, mtlm_round_up(bytes, LINE));
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

/* Three arrays of a thread, of which some loop or product makes use. */
struct arrays {
    const struct loop *loop;
    mtlm_real *x, *y, *z;
};

/* A loop over arrays of n elements, or a product of sizes m, n, k. */
struct loop {
    void (*run)(struct arrays *arrays);
    int64_t x, y, z; /* elements */
    int64_t m, n, k;
};

static void *begin_loop(const void *arg)
{
    const struct loop *loop = arg;
    const struct bench none = {0};
    struct arrays *mine = mtlm_calloc(1, sizeof(*mine));

    mine->loop = loop;
    mine->x = new_operand(MTLM_REAL, loop->x, &none);
    mine->y = new_operand(MTLM_REAL, loop->y, &none);
    mine->z = new_operand(MTLM_REAL, loop->z, &none);
    return mine;
}

static void run_loop(void *arg)
{
    struct arrays *mine = arg;

    mine->loop->run(mine);
}

static void end_loop(void *arg)
{
    struct arrays *mine = arg;

    free(mine->x), free(mine->y), free(mine->z);
    free(mine);
}

static double seconds_of_loop(const struct loop *loop, int threads)
{
    const struct team_work work = {begin_loop, run_loop, end_loop, loop};

    return team_time(&work, threads);
}

static void multiply(struct arrays *a)
{
    const struct loop *l = a->loop;

    mtlm_blas_gemm(false, true, l->m, l->n, l->k, a->x, l->k, a->y, l->k, false,
                   a->z, l->n);
}

static double gemm_rate(int threads, int64_t m, int64_t n, int64_t k)
{
    const struct loop loop = {multiply, m * k, n * k, m * n, m, n, k};

    return 2e-9 * m * n * k / seconds_of_loop(&loop, threads);
}

static void copy(struct arrays *a)
{
    const mtlm_real *x = a->x;
    const int64_t n = a->loop->z;
    mtlm_real *restrict z = a->z;

#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i];
}

static void triad(struct arrays *a)
{
    const mtlm_real *x = a->x, *y = a->y;
    const int64_t n = a->loop->z;
    mtlm_real *restrict z = a->z;

#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i] + 0.5f * y[i];
}

static void update(struct arrays *a)
{
    const mtlm_real *x = a->x;
    const int64_t n = a->loop->z;
    mtlm_real *restrict z = a->z;

#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] += x[i];
}

/* Stores the sum, or the loop would be left out. */
static void add_up(struct arrays *a)
{
    const mtlm_real *x = a->x;
    const int64_t n = a->loop->x;
    mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    a->z[0] = sum;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

/* Numbers of a loop in the nearest cache, and repetitions, which make a round
 * long enough to time. */
enum { NEAR = 2048, AGAIN = 2000 };

static void add_exponentials(struct arrays *a)
{
    for (int again = 0; again < AGAIN; again++) {
        const mtlm_real *x = a->x, max = a->y[0];
        mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < NEAR; i++)
            sum += mtlm_exp2((x[i] - max) * MTLM_LOG2_E);
        a->x[again % NEAR] = sum > 0 ? 0.5f : 1; /* else computed once */
    }
}

static void draw(struct arrays *a)
{
    const struct mtlm_dropout dropout = {.p = 0.1, .seed = 1};

    for (int again = 0; again < AGAIN; again++)
        mtlm_dropout_factors(&dropout, again, 0, NEAR, a->z);
}

/* G/s of numbers that the nearest cache holds. */
static double near_rate(void (*run)(struct arrays *), int threads)
{
    const struct loop loop = {run, NEAR, 1, NEAR, 0, 0, 0};

    return 1e-9 * NEAR * AGAIN / seconds_of_loop(&loop, threads);
}

/* GB/s of `arrays` arrays that no cache holds. */
static double memory_rate(void (*run)(struct arrays *), int arrays, int threads)
{
    const int64_t n = COLD_BYTES / sizeof(mtlm_real);
    const struct loop loop = {run, n, n, n, 0, 0, 0};

    return 1e-9 * arrays * COLD_BYTES / seconds_of_loop(&loop, threads);
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

/* Whether the call writes next to nothing of what it moves.  A call that moves
 * a part of its operands says so itself. */
static bool reads_only(const struct bench *bench)
{
    return bench->reads
           || (bench->bytes == 0
               && moved(&bench->call, true) < 0.1 * traffic(&bench->call));
}

struct bench_rates bench_rates(int threads, int64_t m, int64_t n, int64_t k)
{
    struct bench_rates rates = {
        .threads = threads,
        .gflops = gemm_rate(threads, m, n, k),
        .copy_gbs = memory_rate(copy, 2, threads),
        .triad_gbs = memory_rate(triad, 3, threads),
        .traffic_gbs = memory_rate(update, 3, threads),
        .read_gbs = memory_rate(add_up, 1, threads),
        .exponentials = near_rate(add_exponentials, threads),
        .random = near_rate(draw, threads),
    };

    rates.traffic_gbs =
        greater(rates.traffic_gbs,
                greater(1.5 * rates.copy_gbs, 4 / 3. * rates.triad_gbs));
    return rates;
}

static int sets_for(const struct mtlm_call *call)
{
    const double sets = COLD_BYTES / mtlm_call_bytes(call) + 1;

    return sets < SETS_AT_MOST ? sets : SETS_AT_MOST;
}

/* Calls of a thread; each has operands that the last ones did not touch. */
struct calls {
    const struct mtlm_call *call;
    int sets;
    void *ptr[SETS_AT_MOST][MTLM_MAX_OPERANDS];
    struct mtlm_scratch scratch, wide;
};

static void *begin_calls(const void *arg)
{
    const struct bench *bench = arg;
    const struct mtlm_call *call = &bench->call;
    struct calls *mine = mtlm_calloc(1, sizeof(*mine));

    mine->call = call;
    mine->sets = sets_for(call);
    for (int s = 0; s < mine->sets; s++)
        for (int i = 0; i < mtlm_ops[call->kind]->n_operands; i++)
            mine->ptr[s][i] =
                new_operand(mtlm_call_dtype(call, i),
                            mtlm_shape_elems(&call->shape[i]), bench);
    return mine;
}

static void run_calls(void *arg)
{
    struct calls *mine = arg;
    const struct mtlm_context context = {.share = 1,
                                         .first = true,
                                         .scratch = &mine->scratch,
                                         .wide = &mine->wide};

    for (int s = 0; s < mine->sets; s++)
        mtlm_value_run_cpu(mine->ptr[s], mine->call, &context);
}

static void end_calls(void *arg)
{
    struct calls *mine = arg;

    for (int s = 0; s < mine->sets; s++)
        for (int i = 0; i < mtlm_ops[mine->call->kind]->n_operands; i++)
            free(mine->ptr[s][i]);
    mtlm_scratch_free(&mine->scratch), mtlm_scratch_free(&mine->wide);
    free(mine);
}

void bench_head(void)
{
    puts("| operation | x | ms | GF/s | GB/s | floor, ms | of the floor |\n"
         "|---|---|---|---|---|---|---|");
}

static double flops_of(const struct bench *bench)
{
    const struct mtlm_op *op = mtlm_ops[bench->call.kind];

    return bench->flops < 0   ? 0
           : bench->flops > 0 ? bench->flops
           : op->flops        ? op->flops(&bench->call)
                              : 0;
}

/* Seconds of the exponentials and random numbers that a call must compute. */
static double seconds_of_numbers(const struct mtlm_call *call,
                                 const struct bench_rates *rates)
{
    switch (call->kind) {
    case MTLM_OP_XENT_STATS:
        return 1e-9 * mtlm_shape_elems(&call->shape[XS_LOGITS])
               / rates->exponentials;
    case MTLM_OP_XENT_BWD:
        return 1e-9 * mtlm_shape_elems(&call->shape[XB_LOGITS])
               / rates->exponentials;
    case MTLM_OP_BIAS_DROPOUT_ADD_FWD:
    case MTLM_OP_BIAS_DROPOUT_ADD_BWD:
    case MTLM_OP_POSITION_DROPOUT_FWD:
    case MTLM_OP_POSITION_DROPOUT_BWD:
    case MTLM_OP_EMBEDDING_DROPOUT_FWD:
    case MTLM_OP_EMBEDDING_DROPOUT_BWD:
        return call->attr.dropout.p > 0
                   ? 1e-9 * mtlm_shape_elems(&call->shape[0]) / rates->random
                   : 0;
    default:
        return 0;
    }
}

static double floor_of(const struct bench *bench, double flops, double bytes,
                       const struct bench_rates *rates)
{
    const double gbs = reads_only(bench) ? rates->read_gbs : rates->traffic_gbs;

    return greater(seconds_of_numbers(&bench->call, rates),
                   1e-9 * greater(bytes / gbs, flops / rates->gflops));
}

void bench_row(const struct bench *given, const struct bench_rates *rates)
{
    const struct mtlm_op *op = mtlm_ops[given->call.kind];
    struct bench bench = *given;
    const struct team_work work = {begin_calls, run_calls, end_calls, &bench};
    struct mtlm_error err;
    double seconds, flops, bytes, floor_s;
    char shape[96];

    if (mtlm_call_infer(&bench.call, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    seconds = team_time(&work, rates->threads) / sets_for(&bench.call);
    flops = flops_of(&bench);
    bytes = bench.bytes > 0 ? bench.bytes : traffic(&bench.call);
    floor_s = floor_of(&bench, flops, bytes, rates);
    printf("| %s%s%s | %s | %.3f | %.1f | %.1f | %.3f | %.0f %% |\n", op->name,
           bench.note ? ", " : "", bench.note ? bench.note : "",
           mtlm_shape_str(&bench.call.shape[0], shape), seconds * 1e3,
           flops / seconds * 1e-9, bytes / seconds * 1e-9, floor_s * 1e3,
           100 * floor_s / seconds);
    mtlm_standard_output_flush();
}
