/* Compares the core that OpenBLAS detected with the processor, and restarts the
 * program with OPENBLAS_CORETYPE where they disagree. */

#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/base/units.h"
#include "runtime/machine/attempt.h"
#include "runtime/machine/blas_core.h"

/* Holds the detected core after the restart: the program restarts only once,
 * and tells the user. */
#define DETECTED "MTLM_BLAS_DETECTED"
#define CORETYPE "OPENBLAS_CORETYPE"
#define THREADS "OPENBLAS_NUM_THREADS"

/* Cores whose kernels use at least AVX2.  On a processor with AVX2 any other
 * core is a wrong guess. */
static const char *const modern[] = {
    "Haswell", "Zen", "Excavator", "SkylakeX", "Cooperlake", "SapphireRapids",
};

const char *mtlm_blas_core_better(const struct mtlm_blas_facts *facts)
{
    /* A library for one core only ignores OPENBLAS_CORETYPE. */
    if (!facts->config || !facts->core || facts->coretype || facts->detected
        || !strstr(facts->config, "DYNAMIC_ARCH"))
        return NULL;
    for (size_t i = 0; i < sizeof(modern) / sizeof(modern[0]); i++)
        if (strcasecmp(facts->core, modern[i]) == 0)
            return NULL;
    return facts->avx512 ? "SkylakeX" : facts->avx2 ? "Haswell" : NULL;
}

/* Found at run time: other BLAS libraries lack these functions. */
static const char *ask(const char *function)
{
    char *(*get)(void);

    *(void **) &get = dlsym(RTLD_DEFAULT, function);
    return get ? get() : NULL;
}

static struct mtlm_blas_facts facts_here(void)
{
    struct mtlm_blas_facts facts = {
        .config = ask("openblas_get_config"),
        .core = ask("openblas_get_corename"),
        .coretype = getenv(CORETYPE),
        .detected = getenv(DETECTED),
    };

#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    facts.avx2 = __builtin_cpu_supports("avx2");
    facts.avx512 = __builtin_cpu_supports("avx512f")
                   && __builtin_cpu_supports("avx512bw")
                   && __builtin_cpu_supports("avx512dq")
                   && __builtin_cpu_supports("avx512vl");
#endif
    return facts;
}

static bool has_limit_of_addresses(struct rlimit *limit)
{
    return getrlimit(RLIMIT_AS, limit) == 0 && limit->rlim_cur != RLIM_INFINITY;
}

/* OpenBLAS starts a thread per core when it is loaded, and each retries a
 * refused allocation for ever.  Restarts the program without these threads. */
static void restart_alone(char **argv)
{
    struct rlimit limit;

    if (!ask("openblas_get_config") || getenv(THREADS)
        || !has_limit_of_addresses(&limit))
        return;
    setenv(THREADS, "1", 0);
    execv("/proc/self/exe", argv);
    unsetenv(THREADS);
}

void mtlm_blas_core_prepare(int argc, char **argv)
{
    const struct mtlm_blas_facts facts = facts_here();
    const char *core = mtlm_blas_core_better(&facts);
    void (*set_threads)(int);

    if (argc > 0)
        restart_alone(argv);
    if (core && argc > 0) {
        const bool ours = !getenv(THREADS);

        setenv(THREADS, "1", 0);
        setenv(CORETYPE, core, 1);
        setenv(DETECTED, facts.core, 1);
        execv("/proc/self/exe", argv);
        /* The restart failed: go on slowly. */
        unsetenv(CORETYPE);
        unsetenv(DETECTED);
        if (ours)
            unsetenv(THREADS);
    }
    *(void **) &set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    if (set_threads && !getenv(THREADS))
        set_threads(1);
}

/* Matrix products with and without transposition, with odd sizes. */
static void try_products(void *unused)
{
    enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED, N = 37 };
    static float a[N * N], b[N * N], c[N * N];
    void (*product)(int, int, int, int, int, int, float, const float *, int,
                    const float *, int, float, float *, int);

    (void) unused;
    *(void **) &product = dlsym(RTLD_DEFAULT, "cblas_sgemm");
    for (int i = 0; product && i < 4; i++)
        product(ROW_MAJOR, i & 1 ? TRANSPOSED : PLAIN,
                i & 2 ? TRANSPOSED : PLAIN, N, N, N, 1, a, N, b, N, (float) i,
                c, N);
}

int mtlm_blas_core_check(struct mtlm_error *err)
{
    const struct mtlm_blas_facts facts = facts_here();
    int number;

    if (!facts.config || !facts.core || !facts.coretype || !*facts.coretype
        || facts.detected || !strstr(facts.config, "DYNAMIC_ARCH"))
        return 0;
    if (strcasecmp(facts.core, facts.coretype) != 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "the environment variable " CORETYPE
                              "=%s names no core of this OpenBLAS, which takes "
                              "%s",
                              facts.coretype, facts.core);
    number = mtlm_attempt(try_products, NULL, 1);
    if (number < 0)
        return mtlm_attempt_refused(
            "the core that the environment variable " CORETYPE " names", err);
    if (number > 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "the environment variable " CORETYPE
                              "=%s names a core whose matrix product fails on "
                              "this processor: %s",
                              facts.coretype, strsignal(number));
    return 0;
}

/* Takes *count buffers at once, then gives them back: OpenBLAS keeps the
 * memory.
 */
static void take_buffers(void *count)
{
    const int n = *(int *) count;
    void *(*get)(int), (*give)(void *);
    void **buffer = mtlm_calloc(n, sizeof(*buffer));

    *(void **) &get = dlsym(RTLD_DEFAULT, "blas_memory_alloc");
    *(void **) &give = dlsym(RTLD_DEFAULT, "blas_memory_free");
    for (int i = 0; get && give && i < n; i++)
        buffer[i] = get(0);
    for (int i = 0; get && give && i < n; i++)
        give(buffer[i]);
    free(buffer);
}

int mtlm_blas_core_reserve(int callers, struct mtlm_error *err)
{
    struct rlimit limit;
    int number;

    if (!ask("openblas_get_config") || !has_limit_of_addresses(&limit))
        return 0;
    number = mtlm_attempt(take_buffers, &callers, 1);
    if (number < 0)
        return mtlm_attempt_refused("the buffers of OpenBLAS", err);
    if (number > 0)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "the limit of %.0f MiB of address space (ulimit "
                              "-v) leaves %.0f MiB, too little for the buffers "
                              "of OpenBLAS for %d worker%s",
                              limit.rlim_cur / MTLM_MIB,
                              mtlm_memory_available() / MTLM_MIB, callers,
                              mtlm_plural(callers));
    take_buffers(&callers);
    return 0;
}

static int threads_here(void)
{
    int (*get)(void);

    *(void **) &get = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    return get ? get() : 1;
}

const char *mtlm_blas_core_describe(char *text, size_t bytes)
{
    const struct mtlm_blas_facts facts = facts_here();
    char how[96] = "", threads[32] = "";
    int version;

    if (!facts.config || !facts.core) {
        snprintf(text, bytes, "a BLAS that is not OpenBLAS");
        return text;
    }
    /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
    version = (int) strcspn(facts.config, " ");
    version +=
        (int) strcspn(facts.config + version + !!facts.config[version], " ")
        + !!facts.config[version];
    if (facts.detected)
        snprintf(how, sizeof(how), " (not %.40s)", facts.detected);
    else if (facts.coretype)
        snprintf(how, sizeof(how), " (" CORETYPE " is '%.40s')",
                 facts.coretype);
    if (threads_here() != 1)
        snprintf(threads, sizeof(threads), ", %d threads", threads_here());
    snprintf(text, bytes, "%.*s, core %s%s%s", version, facts.config,
             facts.core, how, threads);
    return text;
}
