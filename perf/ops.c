/* How fast the CPU kernels are: every operation of an iteration of GPT and BERT
 * whose time grows with activations or weights, on operands that are not in a
 * cache, against the floor that the machine sets (perf/op_bench.h).  Figures
 * are those of one thread.  With --threads N, N threads compute at once, as the
 * workers of a job do; cores that share a link to memory then waver.  Left out
 * are pack and adam_version, what handles a number per row or less, or one row
 * of a sample (batch, weights and sum of the loss, pooling, norm, control), and
 * what serves logs, checkpoints and messages.
 *
 *   perf/ops [--threads N] [NAME]   (only operations so named)
 *
 * Prints tables in Markdown; perf/results/ has some. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/control_slots.h"
#include "perf/job_blas.h"
#include "perf/op_bench.h"
#include "perf/team.h"
#include "runtime/base/standard_output.h"

struct size {
    const char *name;
    int64_t s, b, h, a, f, v;
    bool bert;
};

/* What is measured for one size. */
struct table {
    const struct size *z;
    const char *only;
    struct bench_rates rates;
};

#define BENCH(kind_, ...)                                                      \
    (struct bench)                                                             \
    {                                                                          \
        .call = {.kind = MTLM_OP_##kind_, .shape = {__VA_ARGS__} }             \
    }

static void row(const struct table *t, struct bench bench)
{
    if (!t->only || strstr(mtlm_ops[bench.call.kind]->name, t->only))
        bench_row(&bench, &t->rates);
}

static void bf16_row(const struct table *t, struct bench bench)
{
    bench.note = "bf16";
    bench.call.value = MTLM_BF16;
    row(t, bench);
}

/* Not a product: only bytes count. */
static void memory_row(const struct table *t, struct bench bench)
{
    bench.flops = -1;
    row(t, bench);
}

static void measure_products(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape wide = MTLM_SHAPE(z->s, z->b, z->f);
    const struct mtlm_shape up = MTLM_SHAPE(z->f, z->h), f = MTLM_SHAPE(z->f);
    const struct mtlm_shape down = MTLM_SHAPE(z->h, z->f);
    const struct mtlm_shape square = MTLM_SHAPE(z->h, z->h);
    struct bench set = BENCH(LINEAR_WGRAD, x, wide, up);

    set.note = "sets";
    set.call.sets = true;
    row(t, BENCH(LINEAR_FWD, x, up));
    row(t, BENCH(LINEAR_BIAS_FWD, x, up, f));
    row(t, BENCH(LINEAR_FWD, wide, down));
    row(t, BENCH(GELU_LINEAR_FWD, wide, down, wide));
    row(t, BENCH(LINEAR_FWD, x, square));
    row(t, BENCH(LINEAR_DGRAD, wide, up));
    row(t, BENCH(LINEAR_DGRAD, x, down));
    row(t, BENCH(LINEAR_DGRAD_ADD, x, down, wide));
    row(t, BENCH(LINEAR_WGRAD, x, wide, up));
    row(t, set);
    row(t, BENCH(LINEAR_BIAS_WGRAD, x, wide, up, f));
    row(t, BENCH(LINEAR_WGRAD, wide, x, down));
    row(t, BENCH(LINEAR_FWD, x, MTLM_SHAPE(z->v, z->h)));
    for (int exact = 0; exact <= z->bert; exact++) {
        struct bench fwd = BENCH(LINEAR_GELU_FWD, x, up, f);
        struct bench bwd = BENCH(GELU_LINEAR_DGRAD, x, down, wide);

        fwd.note = bwd.note = exact ? "exact" : NULL;
        fwd.call.attr.gelu.exact = bwd.call.attr.gelu.exact = exact;
        row(t, fwd);
        row(t, bwd);
    }
}

/* The floor is in fp32: processors with bf16 instructions are faster. */
static void measure_bf16_products(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape wide = MTLM_SHAPE(z->s, z->b, z->f);
    const struct mtlm_shape up = MTLM_SHAPE(z->f, z->h);
    const struct mtlm_shape down = MTLM_SHAPE(z->h, z->f);

    bf16_row(t, BENCH(LINEAR_FWD, x, up));
    bf16_row(t, BENCH(LINEAR_FWD, wide, down));
    bf16_row(t, BENCH(LINEAR_DGRAD, wide, up));
    bf16_row(t, BENCH(LINEAR_DGRAD, x, down));
    bf16_row(t, BENCH(LINEAR_WGRAD, x, wide, up));
    bf16_row(t, BENCH(LINEAR_FWD, x, MTLM_SHAPE(z->v, z->h)));
}

static void measure_attention(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape qkv = MTLM_SHAPE(z->s, z->b, 3 * z->h);
    const struct mtlm_shape y = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape lse = MTLM_SHAPE(z->b, z->a, z->s);
    const struct mtlm_shape lengths = MTLM_SHAPE(1, z->b);
    /* Multiplications and additions per product over the seen pairs. */
    const double pairs =
        z->bert ? (double) z->s * z->s : 0.5 * z->s * (z->s + 1);
    const double product = 2.0 * z->b * z->h * pairs;

    for (int drop = 0; drop < 2; drop++) {
        struct bench bench = BENCH(ATTENTION_FWD, qkv, lengths);

        bench.note = drop ? "dropout" : NULL;
        bench.equal_to = z->s;
        bench.call.attr.attention.heads = z->a;
        bench.call.attr.attention.causal = !z->bert;
        bench.call.attr.attention.seq_length = z->s;
        bench.call.attr.attention.coefficient = 1;
        bench.call.attr.attention.dropout.p = 0.1 * drop;
        bench.flops = 2 * product;
        row(t, bench);
        bench.call.kind = MTLM_OP_ATTENTION_BWD;
        bench.call.shape[2] = bench.call.shape[4] = y;
        bench.call.shape[3] = lse;
        bench.flops = 5 * product;
        row(t, bench);
        bench.call.kind = MTLM_OP_ATTENTION_BWD_ADD;
        bench.call.shape[5] = qkv;
        row(t, bench);
    }
}

/* Of a sample in two parts, the queries of the second with the keys of the
 * first, all of which they see. */
static void measure_attention_of_parts(const struct table *t)
{
    const struct size *z = t->z;
    const int64_t half = z->s / 2;
    const struct mtlm_shape qkv = MTLM_SHAPE(half, z->b, 3 * z->h);
    const struct mtlm_shape y = MTLM_SHAPE(half, z->b, z->h);
    const struct mtlm_shape lse = MTLM_SHAPE(z->b, z->a, half);
    const struct mtlm_shape lengths = MTLM_SHAPE(1, z->b);
    const double product = 2.0 * z->b * z->h * half * half;
    struct bench bench[] = {
        BENCH(ATTENTION_MORE_FWD, qkv, qkv, lengths, y, lse),
        BENCH(ATTENTION_MORE_BWD, qkv, qkv, lengths, y, lse, y, qkv, qkv)};

    for (int i = 0; i < 2; i++) {
        bench[i].equal_to = z->s;
        bench[i].call.attr.attention.heads = z->a;
        bench[i].call.attr.attention.causal = !z->bert;
        bench[i].call.attr.attention.seq_length = z->s;
        bench[i].call.attr.attention.first_query = half;
        bench[i].call.attr.attention.coefficient = 1;
        bench[i].flops = (i ? 5 : 2) * product;
        row(t, bench[i]);
    }
}

static void measure_rows(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape h = MTLM_SHAPE(z->h);
    const struct mtlm_shape rows = MTLM_SHAPE(z->s, z->b), none = {0};

    memory_row(t, BENCH(LAYERNORM_FWD, x, h, h));
    memory_row(t, BENCH(LAYERNORM_BWD, x, h, rows, rows, x, none, h, h));
    memory_row(t, BENCH(LAYERNORM_BWD_ADD, x, h, rows, rows, x, x, h, h));
    if (z->bert) {
        struct bench bench = BENCH(BIAS_GELU_FWD, x, h);

        bench.note = "exact";
        bench.call.attr.gelu.exact = true;
        memory_row(t, bench);
        bench.call.kind = MTLM_OP_BIAS_GELU_BWD;
        bench.call.shape[2] = x;
        bench.call.shape[4] = h;
        memory_row(t, bench);
    }
    for (int drop = 0; drop < 2; drop++) {
        struct bench bench[] = {
            BENCH(BIAS_DROPOUT_ADD_FWD, x, h, x),
            BENCH(BIAS_DROPOUT_ADD_BWD, x, none, h),
            BENCH(POSITION_DROPOUT_FWD, x, MTLM_SHAPE(z->s, z->h)),
            BENCH(POSITION_DROPOUT_BWD, x, none, MTLM_SHAPE(z->s, z->h)),
        };

        for (int i = 0; i < 4; i++) {
            bench[i].note = drop ? "dropout" : NULL;
            bench[i].call.attr.dropout.p = 0.1 * drop;
            memory_row(t, bench[i]);
        }
    }
    memory_row(t, BENCH(ADD, x, x));
}

/* Of a model without a position embedding, which has no such operation where
 * nothing drops out. */
static void measure_embedding_dropout(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    struct bench bench[] = {BENCH(EMBEDDING_DROPOUT_FWD, x),
                            BENCH(EMBEDDING_DROPOUT_BWD, x)};

    for (int i = 0; i < 2; i++) {
        bench[i].note = "dropout";
        bench[i].call.attr.dropout.p = 0.1;
        memory_row(t, bench[i]);
    }
}

/* Embeddings: of the table only the rows of the tokens move. */
static void measure_embeddings(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape x = MTLM_SHAPE(z->s, z->b, z->h);
    const struct mtlm_shape rows = MTLM_SHAPE(z->s, z->b);
    const double bytes = 4.0 * z->s * z->b * z->h;
    struct bench fwd = BENCH(EMBEDDING_FWD, rows, MTLM_SHAPE(z->v, z->h));
    struct bench bwd = BENCH(EMBEDDING_WGRAD, rows, x, MTLM_SHAPE(z->v, z->h));
    struct bench types = BENCH(TOKEN_TYPE_FWD, rows, MTLM_SHAPE(2, z->h), x);

    fwd.below = bwd.below = z->v;
    fwd.bytes = bwd.bytes = 3 * bytes;
    memory_row(t, fwd);
    memory_row(t, bwd);
    if (!z->bert)
        return;
    types.below = 2;
    types.bytes = 2 * bytes;
    memory_row(t, types);
    bwd.below = 2;
    bwd.bytes = bytes;
    bwd.note = "token types";
    bwd.call.shape[2] = MTLM_SHAPE(2, z->h);
    memory_row(t, bwd);
}

/* The gradient of a word embedding that is also the head.  The first call
 * leaves zeros, which most of such a gradient is: later calls only read. */
static void measure_embedding_sum(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape table = MTLM_SHAPE(z->v, z->h);
    struct bench bench = BENCH(ADD_CLEAR, table, table);

    bench.note = "zeros";
    bench.bytes = 4.0 * z->v * z->h;
    bench.reads = true;
    memory_row(t, bench);
}

static void measure_loss(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape rows = MTLM_SHAPE(z->s, z->b);
    const struct mtlm_shape logits = MTLM_SHAPE(z->s, z->b, z->v);
    const struct mtlm_shape sums = MTLM_SHAPE(2, z->s, z->b);
    const struct mtlm_shape control = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    struct bench stats = BENCH(XENT_STATS, logits, rows);
    struct bench bwd = BENCH(XENT_BWD, rows, rows, sums, rows, control, logits);

    stats.below = bwd.below = z->v;
    stats.call.attr.vocabulary.size = bwd.call.attr.vocabulary.size = z->v;
    memory_row(t, stats);
    memory_row(t, bwd);
}

static void measure_optimizer(const struct table *t)
{
    const struct size *z = t->z;
    const struct mtlm_shape w = MTLM_SHAPE(4 * z->f, z->h);
    struct bench adam = BENCH(ADAM, w, MTLM_SHAPE(MTLM_CONTROL_COUNT), w, w, w);
    struct bench fill = BENCH(FILL, w);
    struct bench master =
        BENCH(ADAM_MASTER, w, MTLM_SHAPE(MTLM_CONTROL_COUNT), w, w, w, w);

    adam.call.attr.adam.beta1 = 0.9;
    adam.call.attr.adam.beta2 = 0.95;
    adam.call.attr.adam.epsilon = 1e-8;
    adam.call.attr.adam.keeps_g = true; /* the next iteration sets g */
    memory_row(t, adam);
    master.note = "bf16";
    master.call.value = MTLM_BF16;
    master.call.attr = adam.call.attr;
    memory_row(t, master);
    memory_row(t, BENCH(SQUARE_SUM, w, MTLM_SHAPE(1)));
    fill.note = "zeros";
    memory_row(t, fill);
    fill.note = "normal";
    fill.call.attr.fill.std = 0.02;
    fill.call.attr.fill.full_cols = w.dim[1];
    memory_row(t, fill);
}

static bool names_one(const char *only)
{
    for (int i = 0; i < MTLM_OP_COUNT; i++)
        if (strstr(mtlm_ops[i]->name, only))
            return true;
    return false;
}

/* Reads "[--threads N] [NAME]".  Returns -1 if the command line is another. */
static int read_arguments(int argc, char **argv, int *threads,
                          const char **only)
{
    const bool given = argc > 2 && strcmp(argv[1], "--threads") == 0;
    const int rest = given ? 3 : 1;

    *threads = given ? atoi(argv[2]) : 1;
    *only = argc > rest ? argv[rest] : NULL;
    return *threads < 1 || *threads > TEAM_MAX_THREADS || argc > rest + 1
                   || (*only && !names_one(*only))
               ? -1
               : 0;
}

static void measure(const struct size *z, int threads, const char *only)
{
    const struct table t = {z, only,
                            bench_rates(threads, z->s * z->b, z->f, z->h)};

    printf("\n%s: s %d, b %d, h %d, %d heads, vocabulary %d; sgemm %.1f "
           "GF/s, copy %.1f GB/s, triad %.1f GB/s, "
           "moved %.1f GB/s, read %.1f GB/s, exponentials %.1f G/s, random "
           "numbers %.1f G/s\n\n",
           z->name, (int) z->s, (int) z->b, (int) z->h, (int) z->a, (int) z->v,
           t.rates.gflops, t.rates.copy_gbs, t.rates.triad_gbs,
           t.rates.traffic_gbs, t.rates.read_gbs, t.rates.exponentials,
           t.rates.random);
    bench_head();
    measure_products(&t);
    measure_bf16_products(&t);
    measure_attention(&t);
    measure_attention_of_parts(&t);
    measure_rows(&t);
    measure_embedding_dropout(&t);
    measure_embeddings(&t);
    measure_embedding_sum(&t);
    measure_loss(&t);
    measure_optimizer(&t);
}

int main(int argc, char **argv)
{
    static const struct size sizes[] = {
        {"gpt-tiny", .s = 256, .b = 4, .h = 256, .a = 4, .f = 1024, .v = 384},
        {"a layer of gpt2-124m", .s = 1024, .b = 1, .h = 768, .a = 12,
         .f = 3072, .v = 50304},
        {"a layer of bert-336m", .s = 512, .b = 2, .h = 1024, .a = 16,
         .f = 4096, .v = 30592, .bert = true},
    };
    const char *blas, *only;
    int threads;

    mtlm_standard_output_start();
    blas = job_blas_use(argc, argv);
    if (read_arguments(argc, argv, &threads, &only) < 0) {
        fprintf(
            stderr,
            "usage: perf/ops [--threads N] [NAME]\n"
            "--threads N: threads that compute at once, 1 to %d (default: 1)\n"
            "NAME: only operations whose name holds it, such as adam\n",
            TEAM_MAX_THREADS);
        return 2;
    }
    printf("BLAS: %s; threads at once: %d, figures of one\n", blas, threads);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        measure(&sizes[i], threads, only);
    return 0;
}
