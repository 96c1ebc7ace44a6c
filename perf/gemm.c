/* How fast products are when all cores compute some, as our workers do: each
 * thread its own, with a BLAS of one thread.
 *
 *   perf/gemm THREADS [bf16-][nt|nn|tn]MxNxK...
 *
 * A line each: the argument and the GF/s of all threads together, best of
 * some rounds.  C [M, N] = A [M, K] B [K, N]; t: stored the other way round.
 * bf16-: as --bf16 multiplies, C in bf16; with tn, added to C in fp32.
 * The first line is the BLAS, which is that of a job. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/bf16_product.h"
#include "codelets/blas.h"
#include "perf/job_blas.h"
#include "perf/team.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"

struct product {
    bool bf16, trans_a, trans_b;
    int64_t m, n, k;
};

/* What a thread multiplies. */
struct matrices {
    struct product product;
    mtlm_real *a, *b, *c;
    struct mtlm_scratch scratch;
};

/* Of a round: a few milliseconds. */
static int64_t calls(const struct product *p)
{
    return 1 + 1000000000 / (2 * p->m * p->n * p->k);
}

static mtlm_real *new_matrix(int64_t elements)
{
    mtlm_real *values = mtlm_calloc(elements, sizeof(*values));

    for (int64_t i = 0; i < elements; i++)
        values[i] = (mtlm_real) (i % 7) / 16;
    return values;
}

/* bf16: the matrices are larger than they must be. */
static void multiply(const struct product *p, const mtlm_real *a,
                     const mtlm_real *b, mtlm_real *c,
                     struct mtlm_scratch *scratch)
{
    const struct mtlm_bf16_product product = {.trans_a = p->trans_a,
                                              .trans_b = p->trans_b,
                                              .single = p->trans_a,
                                              .add = p->trans_a,
                                              .m = p->m,
                                              .n = p->n,
                                              .k = p->k};

    if (p->bf16) {
        mtlm_bf16_product(&product, (const void *) a, (const void *) b, NULL, c,
                          scratch);
        return;
    }
    mtlm_blas_gemm(p->trans_a, p->trans_b, p->m, p->n, p->k, a,
                   p->trans_a ? p->m : p->k, b, p->trans_b ? p->k : p->n, false,
                   c, p->n);
}

static void *begin(const void *arg)
{
    const struct product *p = arg;
    struct matrices *mine = mtlm_calloc(1, sizeof(*mine));

    mine->product = *p;
    mine->a = new_matrix(p->m * p->k);
    mine->b = new_matrix(p->k * p->n);
    mine->c = new_matrix(p->m * p->n);
    return mine;
}

static void run(void *arg)
{
    struct matrices *mine = arg;

    for (int64_t i = calls(&mine->product); i > 0; i--)
        multiply(&mine->product, mine->a, mine->b, mine->c, &mine->scratch);
}

static void end(void *arg)
{
    struct matrices *mine = arg;

    free(mine->a), free(mine->b), free(mine->c);
    mtlm_scratch_free(&mine->scratch);
    free(mine);
}

/* GF/s of all threads. */
static double measure(const struct product *p, int threads)
{
    const struct team_work work = {begin, run, end, p};

    return 2e-9 * threads * p->m * p->n * p->k * calls(p)
           / team_time(&work, threads);
}

static int read_product(const char *text, struct product *p)
{
    const size_t prefix = strncmp(text, "bf16-", 5) == 0 ? 5 : 0;
    char trans[3], end;
    long long m, n, k;

    text += prefix;
    if (sscanf(text, "%2[nt]%lldx%lldx%lld%c", trans, &m, &n, &k, &end) != 4
        || strlen(trans) != 2 || m < 1 || n < 1 || k < 1)
        return -1;
    *p =
        (struct product){prefix > 0, trans[0] == 't', trans[1] == 't', m, n, k};
    return p->bf16 && !mtlm_bf16_product_here() ? -1 : 0;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    struct product p;
    const char *blas;

    mtlm_standard_output_start();
    blas = job_blas_use(argc, argv);
    if (threads < 1 || threads > TEAM_MAX_THREADS) {
        fprintf(stderr, "usage: perf/gemm THREADS [bf16-][nt|nn|tn]MxNxK...\n");
        return 2;
    }
    puts(blas);
    for (int i = 2; i < argc; i++) {
        if (read_product(argv[i], &p) < 0) {
            fprintf(stderr, "gemm: '%s' is no product here\n", argv[i]);
            return 2;
        }
        printf("%s %.1f\n", argv[i], measure(&p, threads));
        mtlm_standard_output_flush();
    }
    return 0;
}
