/* The cure for an OpenBLAS that does not know the processor: the decision,
 * and starting anew, with an OpenBLAS of our own that errs. */

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/machine/blas_core.h"

#define DYNAMIC "OpenBLAS 0.3.21 NO_AFFINITY DYNAMIC_ARCH MAX_THREADS=64"

/* In place of the library's, for dlsym() looks into the program first. */
char *openblas_get_config(void);
char *openblas_get_corename(void);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);

static int threads = 2;
static bool no_restart;

/* In place of the C library's.  No test here needs a child. */
pid_t fork(void)
{
    errno = EAGAIN;
    return -1;
}

int execv(const char *path, char *const *argv)
{
    static int (*real)(const char *, char *const *);

    if (no_restart) {
        errno = EACCES;
        return -1;
    }
    *(void **) &real = dlsym(RTLD_NEXT, "execv");
    return real(path, argv);
}

char *openblas_get_config(void)
{
    static char config[] = DYNAMIC;

    return config;
}

char *openblas_get_corename(void)
{
    static char prescott[] = "Prescott";
    char *core = getenv("OPENBLAS_CORETYPE");

    return core ? core : prescott;
}

int openblas_get_num_threads(void)
{
    const char *set = getenv("OPENBLAS_NUM_THREADS");

    return set ? atoi(set) : threads;
}

void openblas_set_num_threads(int n)
{
    threads = n;
}

static const struct mtlm_blas_facts trapped = {
    .config = DYNAMIC, .core = "Prescott", .avx2 = true, .avx512 = true};

static void test_an_old_core_on_a_new_processor_is_replaced(void **state)
{
    struct mtlm_blas_facts facts = trapped;

    (void) state;
    assert_string_equal(mtlm_blas_core_better(&facts), "SkylakeX");
    facts.avx512 = false;
    assert_string_equal(mtlm_blas_core_better(&facts), "Haswell");
    facts.avx2 = false;
    assert_null(mtlm_blas_core_better(&facts));
}

static void test_a_core_that_fits_is_left_alone(void **state)
{
    static const char *const fit[] = {"SkylakeX", "Cooperlake", "Haswell",
                                      "Zen",      "skylakex",   "ZEN"};
    struct mtlm_blas_facts facts = trapped;

    (void) state;
    for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++) {
        facts.core = fit[i];
        assert_null(mtlm_blas_core_better(&facts));
    }
}

static void test_the_user_and_other_libraries_are_left_alone(void **state)
{
    struct mtlm_blas_facts facts = trapped;

    (void) state;
    facts.coretype = "";
    assert_null(mtlm_blas_core_better(&facts));
    facts = trapped;
    facts.detected = "Prescott"; /* it did not help the first time */
    assert_null(mtlm_blas_core_better(&facts));
    facts = trapped;
    facts.config = "OpenBLAS 0.3.21 PRESCOTT MAX_THREADS=64";
    assert_null(mtlm_blas_core_better(&facts));
    facts.config = NULL;
    assert_null(mtlm_blas_core_better(&facts));
}

static void test_the_program_was_started_anew(void **state)
{
    char text[128];

    (void) state;
    if (!__builtin_cpu_supports("avx2")) {
        print_message("# the processor has no AVX2\n");
        skip();
        return;
    }
    assert_string_equal(getenv("MTLM_BLAS_DETECTED"), "Prescott");
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "1");
    mtlm_blas_core_describe(text, sizeof(text));
    assert_string_equal(text,
                        strstr(text, "SkylakeX")
                            ? "OpenBLAS 0.3.21, core SkylakeX (not Prescott)"
                            : "OpenBLAS 0.3.21, core Haswell (not Prescott)");
}

static void test_one_thread_per_caller_unless_the_user_says(void **state)
{
    char program[] = "test", *argv[] = {program, NULL}, text[128];

    (void) state;
    unsetenv("OPENBLAS_NUM_THREADS");
    threads = 2;
    mtlm_blas_core_prepare(1, argv);
    assert_int_equal(threads, 1);
    setenv("OPENBLAS_NUM_THREADS", "3", 1);
    threads = 3;
    mtlm_blas_core_prepare(1, argv);
    assert_int_equal(threads, 3);
    mtlm_blas_core_describe(text, sizeof(text));
    assert_non_null(strstr(text, ", 3 threads"));
}

/* The program goes on slowly, but with one thread per caller. */
static void test_a_restart_that_fails_leaves_no_setting(void **state)
{
    char program[] = "test", *argv[] = {program, NULL};

    (void) state;
    unsetenv("MTLM_BLAS_DETECTED");
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_NUM_THREADS");
    threads = 2;
    no_restart = true;
    mtlm_blas_core_prepare(1, argv);
    assert_null(getenv("MTLM_BLAS_DETECTED"));
    assert_null(getenv("OPENBLAS_CORETYPE"));
    assert_null(getenv("OPENBLAS_NUM_THREADS"));
    assert_int_equal(threads, 1);
}

/* As where ulimit -u is reached. */
static void test_what_no_child_tries_is_refused(void **state)
{
    struct rlimit before, limit;
    struct mtlm_error err;
    int rc;

    (void) state;
    unsetenv("MTLM_BLAS_DETECTED");
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    assert_int_equal(mtlm_blas_core_check(&err), -1);
    assert_int_equal(err.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(err.text, "no process can try the core"));

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t) 1 << 46;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    rc = mtlm_blas_core_reserve(2, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(err.text, "no process can try the buffers"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_old_core_on_a_new_processor_is_replaced),
        cmocka_unit_test(test_a_core_that_fits_is_left_alone),
        cmocka_unit_test(test_the_user_and_other_libraries_are_left_alone),
        cmocka_unit_test(test_the_program_was_started_anew),
        cmocka_unit_test(test_one_thread_per_caller_unless_the_user_says),
        cmocka_unit_test(test_a_restart_that_fails_leaves_no_setting),
        cmocka_unit_test(test_what_no_child_tries_is_refused),
    };

    /* The surroundings of the test may have chosen a core. */
    if (!getenv("MTLM_BLAS_DETECTED"))
        unsetenv("OPENBLAS_CORETYPE");
    mtlm_blas_core_prepare(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
