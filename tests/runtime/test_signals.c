/* The first signal only asks, the second ends the process. */

#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/clock.h"
#include "runtime/base/exit_code.h"
#include "runtime/machine/signals.h"
#include "tests/runtime/child.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};

enum { N = sizeof(numbers) / sizeof(numbers[0]) };

struct child {
    int (*run)(int);
    int argument;
};

static int run_child(const void *arg)
{
    const struct child *child = arg;

    mtlm_signals_start();
    return child->run(child->argument);
}

/* Runs child(argument) in a process of its own, where no signal came yet; its
 * status, and what it says in text. */
static int status_of(int (*child)(int), int argument, char text[256])
{
    return child_status(run_child, &(struct child){child, argument}, text);
}

static int raise_once(int number)
{
    if (mtlm_stop_requested())
        return 1;
    raise(number);
    return mtlm_stop_requested() == MTLM_STOP_SIGNAL ? 42 : 2;
}

static int raise_twice(int number)
{
    raise(number);
    raise(SIGTERM);
    return 3;
}

static int exceed_the_time(int unused)
{
    (void) unused;
    mtlm_stop_request();
    if (mtlm_stop_requested() != MTLM_STOP_TIME)
        return 1;
    raise(SIGUSR1); /* it counts more, and is the first one still */
    return mtlm_stop_requested() == MTLM_STOP_SIGNAL ? 42 : 2;
}

static int pass_the_deadline(int unused)
{
    (void) unused;
    mtlm_stop_at(INT64_MAX);
    if (mtlm_stop_requested())
        return 1;
    mtlm_stop_at(mtlm_now_ns() - 1);
    if (mtlm_stop_requested() != MTLM_STOP_TIME)
        return 2;
    raise(SIGTERM);
    return mtlm_stop_requested() == MTLM_STOP_SIGNAL ? 42 : 3;
}

/* A process that ends at once ends by the number itself; by SIGUSR1 with a
 * status of its own. */
static int end_at_once(int number)
{
    mtlm_signals_end_at_once();
    raise(number);
    return 2;
}

static int end_later(int number)
{
    raise(number);
    mtlm_signals_end_at_once();
    return 2;
}

static int write_to_nobody(int unused)
{
    int out[2];

    (void) unused;
    if (pipe(out) < 0)
        return 1;
    close(out[0]);
    return write(out[1], "x", 1) < 0 ? 42 : 2;
}

static void test_the_first_signal_only_sets_the_flag(void **state)
{
    char text[256];

    (void) state;
    for (int i = 0; i < N; i++) {
        const int status = status_of(raise_once, numbers[i], text);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 42);
        assert_string_equal(text, "");
    }
}

static void test_the_second_signal_ends_the_process(void **state)
{
    char text[256];

    (void) state;
    for (int i = 0; i < N; i++) {
        const int status = status_of(raise_twice, numbers[i], text);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
        assert_string_equal(text, "mtlm-dag: second signal, stopping now\n");
    }
}

static void test_a_signal_is_told_from_the_end_of_the_time(void **state)
{
    char text[256];

    (void) state;
    assert_int_equal(WEXITSTATUS(status_of(exceed_the_time, 0, text)), 42);
    assert_int_equal(WEXITSTATUS(status_of(pass_the_deadline, 0, text)), 42);
    /* The reasons of all ranks add up, and stay apart. */
    assert_true(MTLM_STOP_SIGNAL > 100000 * MTLM_STOP_TIME);
}

static void test_a_closed_pipe_does_not_end_the_process(void **state)
{
    char text[256];
    const int status = status_of(write_to_nobody, 0, text);

    (void) state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void test_signals_end_at_once(void **state)
{
    static int (*const run[])(int) = {end_at_once, end_later};
    char text[256];

    (void) state;
    for (int i = 0; i < 2 * N; i++) {
        const int number = numbers[i / 2];
        const int status = status_of(run[i % 2], number, text);

        if (number == SIGUSR1)
            assert_int_equal(WEXITSTATUS(status), MTLM_EXIT_INTERRUPTED);
        else
            assert_int_equal(WTERMSIG(status), number);
        assert_int_equal(WIFEXITED(status), number == SIGUSR1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_signal_only_sets_the_flag),
        cmocka_unit_test(test_the_second_signal_ends_the_process),
        cmocka_unit_test(test_a_signal_is_told_from_the_end_of_the_time),
        cmocka_unit_test(test_a_closed_pipe_does_not_end_the_process),
        cmocka_unit_test(test_signals_end_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
