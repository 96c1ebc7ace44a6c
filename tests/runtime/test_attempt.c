/* What a child process may do, and the clock that it is measured by. */

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/machine/attempt.h"
#include "runtime/machine/blas.h"

static bool no_process, no_patience;

/* In place of the C library's, as the next one. */
pid_t fork(void)
{
    static pid_t (*real)(void);

    if (no_process) {
        errno = EAGAIN;
        return -1;
    }
    *(void **) &real = dlsym(RTLD_NEXT, "fork");
    return real();
}

/* The time is over at once. */
unsigned alarm(unsigned seconds)
{
    static unsigned (*real)(unsigned);

    if (no_patience)
        raise(SIGALRM);
    *(void **) &real = dlsym(RTLD_NEXT, "alarm");
    return real(seconds);
}

/* Counts the steps of the clock during 40 ms. */
static void count_steps(void *context)
{
    const double begin = mtlm_attempt_seconds();
    double before = begin, now;
    int *steps = context;

    while ((now = mtlm_attempt_seconds()) < begin + 0.04) {
        *steps += now > before;
        before = now;
    }
}

/* Linux counts the time of a process with a limit in ticks of 1, 4 or 10 ms.
 * Such a clock finds libraries equally fast that differ by a fifth. */
static void test_the_clock_has_no_ticks(void **state)
{
    int *steps = mmap(NULL, sizeof(*steps), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void) state;
    assert_true(steps != MAP_FAILED);
    assert_int_equal(mtlm_attempt(count_steps, steps, 2), 0);
    assert_true(*steps > 1000);
    munmap(steps, sizeof(*steps));
}

static void crash(void *context)
{
    (void) context;
    raise(SIGABRT);
}

static void hang(void *context)
{
    (void) context;
    for (volatile int i = 0;; i++)
        ;
}

static void test_a_child_may_crash_or_hang(void **state)
{
    (void) state;
    assert_int_equal(mtlm_attempt(crash, NULL, 2), SIGABRT);
    assert_int_equal(mtlm_attempt(hang, NULL, 1), SIGPROF);
}

/* As where ulimit -u is reached: not a child that ended well. */
static void test_no_child_is_no_success(void **state)
{
    struct mtlm_blas_trial trial;
    struct mtlm_error err;

    (void) state;
    no_process = true;
    assert_int_equal(mtlm_attempt(crash, NULL, 2), -1);
    assert_int_equal(mtlm_blas_try("blis", false, &trial, &err), -1);
    assert_non_null(strstr(err.text, "no process can try the library"));
    no_process = false;
}

/* The parent's wish stays, but it must not hide how the child ended. */
static void test_a_parent_may_ignore_children(void **state)
{
    (void) state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(mtlm_attempt(crash, NULL, 2), SIGABRT);
    assert_true(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
}

static void test_a_library_that_waits_is_refused_by_the_time_it_had(
    void **state)
{
    struct mtlm_blas_trial trial;
    struct mtlm_error err;

    (void) state;
    no_patience = true;
    assert_int_equal(mtlm_blas_try("blis", false, &trial, &err), -1);
    no_patience = false;
    assert_string_equal(err.text, "--blas blis: small products of matrices "
                                  "take longer than 60 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_clock_has_no_ticks),
        cmocka_unit_test(test_a_child_may_crash_or_hang),
        cmocka_unit_test(test_no_child_is_no_success),
        cmocka_unit_test(test_a_parent_may_ignore_children),
        cmocka_unit_test(
            test_a_library_that_waits_is_refused_by_the_time_it_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
