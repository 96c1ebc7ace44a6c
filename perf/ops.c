/* How fast the CPU kernels are: every operation that counts, at the sizes of
 * gpt-tiny and of a layer of GPT-2, by the CPU time of one thread.
 *
 *   OPENBLAS_NUM_THREADS=1 perf/ops [name]   (only operations so named)
 *
 * GF/s by the table's flops, GB/s by what a call reads and writes, and the
 * share of a plain sgemm's GF/s beside the products. */

#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codelets/blas.h"
#include "codelets/op.h"

struct size {
    const char *name;
    int64_t s, b, h, a, f, v;
};

struct bench {
    struct mtlm_call call;
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
static void *new_operand(enum mtlm_dtype dtype, int64_t n, int64_t tokens)
{
    char *data = mtlm_calloc(n, mtlm_dtype_bytes(dtype));
    uint32_t random = 1;

    for (int64_t i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        if (dtype == MTLM_REAL)
            ((mtlm_real *) data)[i] = 0.1f + (random >> 8) * 0x1p-24f;
        else if (dtype == MTLM_I32)
            ((int32_t *) data)[i] =
                tokens < 0 ? -tokens : (random >> 8) % tokens;
        else
            ((double *) data)[i] = 1;
    }
    return data;
}

/* Median of seconds per call; few calls, so that no value runs out of its
 * range. */
static double seconds_of(struct bench *bench)
{
    enum { SAMPLES = 7 };
    static struct mtlm_scratch scratch;
    const struct mtlm_context context = {.share = 1, .scratch = &scratch};
    const struct mtlm_op *op = mtlm_ops[bench->call.kind];
    double sample[SAMPLES], start = cpu_seconds();
    int calls;

    op->cpu(bench->ptr, &bench->call, &context);
    start = cpu_seconds() - start;
    calls = start > 0.02 ? 1 : (int) (0.02 / (start + 1e-7)) + 1;
    calls = calls < 50 ? calls : 50;
    for (int i = 0; i < SAMPLES; i++) {
        start = cpu_seconds();
        for (int c = 0; c < calls; c++)
            op->cpu(bench->ptr, &bench->call, &context);
        sample[i] = (cpu_seconds() - start) / calls;
        for (int j = i; j > 0 && sample[j] < sample[j - 1]; j--) {
            const double swap = sample[j];

            sample[j] = sample[j - 1];
            sample[j - 1] = swap;
        }
    }
    return sample[SAMPLES / 2];
}

/* GF/s of a product of that size. */
static double gemm_rate(int64_t m, int64_t n, int64_t k)
{
    mtlm_real *a = new_operand(MTLM_REAL, m * k, 1);
    mtlm_real *b = new_operand(MTLM_REAL, n * k, 1);
    mtlm_real *c = new_operand(MTLM_REAL, m * n, 1);
    double best = 1e9;

    for (int i = 0; i < 7; i++) {
        double start = cpu_seconds();

        mtlm_gemm(false, true, m, n, k, 1, a, k, b, k, 0, c, n);
        start = cpu_seconds() - start;
        best = start < best ? start : best;
    }
    free(a), free(b), free(c);
    return 2.0 * m * n * k / best * 1e-9;
}

static void measure(const char *only, struct mtlm_call call, int64_t tokens,
                    double ceiling)
{
    const struct mtlm_op *op = mtlm_ops[call.kind];
    struct bench bench = {.call = call};
    struct mtlm_error err;
    double seconds, flops;

    if (only && !strstr(op->name, only))
        return;
    if (op->infer(&bench.call, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (int i = 0; i < op->n_operands; i++)
        bench.ptr[i] = new_operand(
            op->dtype[i], mtlm_shape_elems(&bench.call.shape[i]), tokens);
    seconds = seconds_of(&bench);
    flops = op->flops ? op->flops(&bench.call) : 0;
    printf("  %-22s %10.1f us %8.1f GF/s (%3.0f %%) %8.1f GB/s %7.2f ns/elem\n",
           op->name, seconds * 1e6, flops / seconds * 1e-9,
           flops / seconds * 1e-7 / ceiling,
           mtlm_call_bytes(&bench.call) / seconds * 1e-9,
           seconds * 1e9 / mtlm_shape_elems(&bench.call.shape[0]));
    for (int i = 0; i < op->n_operands; i++)
        free(bench.ptr[i]);
}

#define CALL(kind_, ...)                                                       \
    (struct mtlm_call)                                                         \
    {                                                                          \
        .kind = MTLM_OP_##kind_, .shape = { __VA_ARGS__ }                      \
    }

static void measure_rows(const char *only, const struct size *z, double gemm)
{
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape h = MTLM_SHAPE(z->h), f = MTLM_SHAPE(z->f);
    const struct mtlm_shape rows = MTLM_SHAPE(z->s, z->b), none = {0};
    const struct mtlm_shape wide = MTLM_SHAPE(z->s, z->b, z->f);

    measure(only, CALL(LAYERNORM_FWD, x, h, h), 1, gemm);
    measure(only, CALL(LAYERNORM_BWD, x, h, rows, rows, x, none, h, h), 1,
            gemm);
    measure(only, CALL(LAYERNORM_BWD_ADD, x, h, rows, rows, x, x, h, h), 1,
            gemm);
    measure(only, CALL(BIAS_GELU_FWD, wide, f), 1, gemm);
    measure(only, CALL(BIAS_GELU_BWD, wide, f, wide, none, f), 1, gemm);
    for (int drop = 0; drop < 2; drop++) {
        struct mtlm_call call = CALL(BIAS_DROPOUT_ADD_FWD, x, h, x);

        call.attr.dropout.p = 0.1 * drop;
        measure(only, call, 1, gemm);
        call = CALL(BIAS_DROPOUT_ADD_BWD, x, none, h);
        call.attr.dropout.p = 0.1 * drop;
        measure(only, call, 1, gemm);
        call = CALL(POSITION_DROPOUT_FWD, x, MTLM_SHAPE(z->s, z->h));
        call.attr.dropout.p = 0.1 * drop;
        measure(only, call, 1, gemm);
    }
}

static void measure_products(const char *only, const struct size *z,
                             double gemm)
{
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape wide = MTLM_SHAPE(z->s, z->b, z->f);
    const struct mtlm_shape w = MTLM_SHAPE(z->f, z->h), f = MTLM_SHAPE(z->f);

    measure(only, CALL(LINEAR_FWD, x, w), 1, gemm);
    measure(only, CALL(LINEAR_BIAS_FWD, x, w, f), 1, gemm);
    measure(only, CALL(LINEAR_DGRAD, wide, w), 1, gemm);
    measure(only, CALL(LINEAR_WGRAD, x, wide, w), 1, gemm);
    measure(only, CALL(LINEAR_BIAS_WGRAD, x, wide, w, f), 1, gemm);
}

static void measure_attention(const char *only, const struct size *z,
                              double gemm)
{
    const struct mtlm_shape qkv = MTLM_SHAPE(z->s, z->b, 3 * z->h);
    const struct mtlm_shape y = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape lse = MTLM_SHAPE(z->b, z->a, z->s);
    const struct mtlm_shape lengths = MTLM_SHAPE(1, z->b);

    for (int drop = 0; drop < 2; drop++) {
        struct mtlm_call call = CALL(ATTENTION_FWD, qkv, lengths);

        call.attr.attention.heads = z->a;
        call.attr.attention.causal = true;
        call.attr.attention.seq_length = z->s;
        call.attr.attention.coefficient = 1;
        call.attr.attention.dropout.p = 0.1 * drop;
        measure(only, call, -z->s, gemm);
        call.kind = MTLM_OP_ATTENTION_BWD;
        call.shape[2] = call.shape[4] = y;
        call.shape[3] = lse;
        measure(only, call, -z->s, gemm);
    }
}

static void measure_ends(const char *only, const struct size *z, double gemm)
{
    const struct mtlm_shape rows = MTLM_SHAPE(z->s, z->b);
    const struct mtlm_shape word = MTLM_SHAPE(z->v, z->h);
    const struct mtlm_shape logits = MTLM_SHAPE(z->s, z->b, z->v);
    const struct mtlm_shape sums = MTLM_SHAPE(2, z->s, z->b);
    const struct mtlm_shape control = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    struct mtlm_call call[] = {
        CALL(EMBEDDING_FWD, rows, word),
        CALL(EMBEDDING_WGRAD, rows, MTLM_SHAPE(z->s, z->b, z->h), word),
        CALL(XENT_STATS, logits, rows),
        CALL(XENT_BWD, rows, rows, sums, rows, logits),
    };

    for (int i = 0; i < 4; i++) {
        call[i].attr.vocabulary.size = z->v;
        measure(only, call[i], z->v, gemm);
    }
    for (int big = 0; big < 2; big++) {
        const struct mtlm_shape w =
            MTLM_SHAPE(big ? 4096 : z->f, big ? 4096 : z->h);
        struct mtlm_call adam = CALL(ADAM, w, control, w, w, w);
        struct mtlm_call fill = CALL(FILL, w);

        adam.attr.adam.beta1 = 0.9;
        adam.attr.adam.beta2 = 0.95;
        adam.attr.adam.epsilon = 1e-8;
        measure(only, adam, 1, gemm);
        fill.attr.fill.std = 0.02;
        fill.attr.fill.full_cols = w.dim[1];
        measure(only, fill, 1, gemm);
        measure(only, CALL(ADD, w, w), 1, gemm);
        measure(only, CALL(SQUARE_SUM, w, MTLM_SHAPE(1)), 1, gemm);
    }
}

int main(int argc, char **argv)
{
    static const struct size sizes[] = {
        {"gpt-tiny", .s = 256, .b = 4, .h = 256, .a = 4, .f = 1024, .v = 384},
        {"a layer of gpt2-124m", .s = 1024, .b = 1, .h = 768, .a = 12,
         .f = 3072, .v = 50304},
    };
    char *(*core)(void) =
        (char *(*) (void) ) dlsym(RTLD_DEFAULT, "openblas_get_corename");

    printf("BLAS core: %s\n", core ? core() : "unknown");
    for (int i = 0; i < 2; i++) {
        const struct size *z = &sizes[i];
        const double gemm = gemm_rate(z->s * z->b, z->f, z->h);

        printf("%s: sgemm %.1f GF/s\n", z->name, gemm);
        measure_products(argc > 1 ? argv[1] : NULL, z, gemm);
        measure_attention(argc > 1 ? argv[1] : NULL, z, gemm);
        measure_rows(argc > 1 ? argv[1] : NULL, z, gemm);
        measure_ends(argc > 1 ? argv[1] : NULL, z, gemm);
    }
    return 0;
}
