/* How fast products are when all cores compute some, as our workers do: each
 * thread its own, with a BLAS of one thread.
 *
 *   perf/gemm THREADS [bf16-][nt|nn|tn]MxNxK...
 *
 * A line each: the argument and the GF/s of all threads together, best of
 * some rounds.  C [M, N] = A [M, K] B [K, N]; t: stored the other way round.
 * bf16-: by oneDNN as --bf16 does, C in bf16; with tn, added to C in fp32.
 * The first line is the BLAS, which is that of a job. */

#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/bf16_product.h"
#include "codelets/blas.h"
#include "perf/job_blas.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"

enum { MAX_THREADS = 256, MIN_ROUNDS = 7, MAX_ROUNDS = 200 };

static const int64_t enough_ns = 400000000;

struct product {
    bool bf16, trans_a, trans_b;
    int64_t m, n, k;
};

struct team {
    struct product product;
    pthread_barrier_t barrier;
    int64_t begin_ns, best_ns, all_ns; /* written by thread 0 between waits */
    int rounds;
};

/* Of a round, which starts and ends with a barrier: a few milliseconds. */
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

/* True for the one thread that keeps the time. */
static bool wait_for_all(struct team *team)
{
    return pthread_barrier_wait(&team->barrier)
           == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void note(struct team *team)
{
    const int64_t ns = mtlm_now_ns() - team->begin_ns;

    /* The first one loads caches and pages. */
    if (team->rounds++ == 0)
        return;
    team->all_ns += ns;
    if (!team->best_ns || ns < team->best_ns)
        team->best_ns = ns;
}

static bool goes_on(const struct team *team)
{
    return team->rounds <= MIN_ROUNDS
           || (team->all_ns < enough_ns && team->rounds <= MAX_ROUNDS);
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
    mtlm_blas_gemm(p->trans_a, p->trans_b, p->m, p->n, p->k, 1, a,
                   p->trans_a ? p->m : p->k, b, p->trans_b ? p->k : p->n, 0, c,
                   p->n);
}

static void *work(void *arg)
{
    struct team *team = arg;
    const struct product p = team->product;
    mtlm_real *a = new_matrix(p.m * p.k), *b = new_matrix(p.k * p.n);
    mtlm_real *c = new_matrix(p.m * p.n);
    struct mtlm_scratch scratch = {0};

    do {
        if (wait_for_all(team))
            team->begin_ns = mtlm_now_ns();
        wait_for_all(team);
        for (int64_t i = calls(&p); i > 0; i--)
            multiply(&p, a, b, c, &scratch);
        if (wait_for_all(team))
            note(team);
        wait_for_all(team);
    } while (goes_on(team));
    free(a);
    free(b);
    free(c);
    mtlm_scratch_free(&scratch);
    return NULL;
}

/* GF/s of all threads. */
static double measure(const struct product *p, int threads)
{
    struct team team = {.product = *p};
    pthread_t thread[MAX_THREADS];

    pthread_barrier_init(&team.barrier, NULL, threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, work, &team))
            abort();
    work(&team);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    return 2.0 * threads * p->m * p->n * p->k * calls(p) / team.best_ns;
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
    if (threads < 1 || threads > MAX_THREADS) {
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
