/* The emulator runs kernels as a GPU does, and ends what has a mistake. */

#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if HAVE_CUDA && !__SANITIZE_THREAD__

#include "tests/emulator/emulator.h"
#include "tests/emulator/guarded.h"
#include "tests/emulator/planted.h"

enum { BLOCKS = 3, N = BLOCKS * PLANTED_THREADS };

/* Whether planted_reverse() gets it right in both orders. */
static bool reverses(bool wait)
{
    int from[N], to[N];
    bool right = true;

    for (int i = 0; i < N; i++)
        from[i] = i;
    for (int order = 0; order < 2; order++) {
        memset(to, 0, sizeof(to));
        mtlm_emulator_backwards = order;
        planted_reverse(from, to, BLOCKS, wait);
        for (int i = 0; i < N; i++)
            right &= to[i]
                     == i / PLANTED_THREADS * PLANTED_THREADS + PLANTED_THREADS
                            - 1 - i % PLANTED_THREADS;
    }
    mtlm_emulator_backwards = false;
    return right;
}

static void test_blocks_share_memory_and_wait_in_barriers(void **state)
{
    (void) state;
    assert_true(reverses(true));
}

static void test_a_missing_barrier_shows(void **state)
{
    (void) state;
    assert_false(reverses(false));
}

static void test_warps_shuffle_and_vote(void **state)
{
    int from[64], sum[64];
    unsigned odd;

    (void) state;
    for (int i = 0; i < 64; i++)
        from[i] = i * i;
    planted_warp_sum(from, sum, &odd, 64);
    for (int i = 0; i < 64; i++) /* sums of the first squares */
        assert_int_equal(sum[i], i < 32 ? 31 * 32 * 63 / 6
                                        : 63 * 64 * 127 / 6 - 31 * 32 * 63 / 6);
    assert_int_equal(odd, 0xaaaaaaaa);
}

/* What a mistake is told to do. */
static void some_wait(int *to)
{
    planted_some_wait(to);
}

static void two_barriers(int *to)
{
    planted_two_barriers(to);
}

static void half_a_warp(int *to)
{
    unsigned odd;

    planted_warp_sum(to, to, &odd, 16);
}

static void large_block(int *to)
{
    planted_count(to, 1, 1025);
}

static void no_block(int *to)
{
    planted_count(to, 0, 32);
}

static void behind_the_end(int *to)
{
    planted_count(to, 1, PLANTED_THREADS + 1);
}

static void behind_shared(int *to)
{
    planted_shared(to, 4);
}

/* Runs mistake in a process of its own on PLANTED_THREADS numbers.  Fails
 * unless this ends by a signal (or a sanitizer) having said text. */
static void assert_ends(void (*mistake)(int *to), const char *text)
{
    char said[16384];
    size_t n = 0;
    int pipes[2], status;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct guarded to =
            guarded_new(PLANTED_THREADS * sizeof(int), sizeof(int), true);

        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(pipes[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL), signal(SIGSEGV, SIG_DFL);
        memset(to.data, 0, PLANTED_THREADS * sizeof(int));
        mistake(to.data);
        _exit(0);
    }
    close(pipes[1]);
    while ((got = read(pipes[0], said + n, sizeof(said) - 1 - n)) > 0)
        n += got;
    said[n] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_not_equal(status, 0);
    if (!strstr(said, text))
        fail_msg("\"%s\" is not in:\n%s", text, said);
}

static void test_mistakes_end_the_program(void **state)
{
    (void) state;
    assert_ends(some_wait, "emulator: threads 0 to 4: in __syncthreads at ");
    assert_ends(some_wait, "emulator: threads 5 to 95: ended");
    assert_ends(two_barriers, "threads wait for each other");
    assert_ends(half_a_warp, "lane 0 takes a value from lane 16, which gives "
                             "none, at ");
    assert_ends(large_block, "no GPU takes a block of 1025 x 1 x 1");
    assert_ends(no_block, "no GPU takes a grid of 0 x 1 x 1");
    assert_ends(behind_the_end, "");
    assert_ends(behind_shared, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_share_memory_and_wait_in_barriers),
        cmocka_unit_test(test_a_missing_barrier_shows),
        cmocka_unit_test(test_warps_shuffle_and_vote),
        cmocka_unit_test(test_mistakes_end_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return puts("1..0 # SKIP built without CUDA, or with ThreadSanitizer")
           == EOF;
}

#endif
