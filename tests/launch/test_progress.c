/* The progress of a long iteration: its text, and its count. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/log/progress.h"

static void assert_text(double done, int64_t after, double seconds,
                        const char *want)
{
    char text[160];

    assert_string_equal(mtlm_progress_text("iteration 12", done, 16, after,
                                           seconds, text, sizeof(text)),
                        want);
}

static void test_text_has_count_rate_and_time_left(void **state)
{
    (void) state;
    assert_text(3, 0, 2.5,
                "iteration 12: 3.0/16 microbatches, 1.2 microbatches/s,"
                " 11 s left");
    assert_text(1, 0, 20,
                "iteration 12: 1.0/16 microbatches, 0.0500 microbatches/s,"
                " 5.0 min left");
    assert_text(16, 0, 0.1,
                "iteration 12: 16.0/16 microbatches, 160 microbatches/s,"
                " 0 s left");
}

static void test_text_counts_parts_of_microbatches(void **state)
{
    char text[160];

    (void) state;
    assert_text(0.26, 0, 13,
                "iteration 12: 0.3/16 microbatches, 0.0200 microbatches/s,"
                " 13 min left");
    assert_string_equal(
        mtlm_progress_text("iteration 12", 7.6, 512, 0, 76, text, sizeof(text)),
        "iteration 12: 8/512 microbatches, 0.10 microbatches/s, 84 min left");
}

static void test_text_knows_the_whole_run(void **state)
{
    (void) state;
    assert_text(4, 1600, 8,
                "iteration 12: 4.0/16 microbatches, 0.50 microbatches/s,"
                " 24 s left, 54 min of the run");
}

static void test_text_without_a_microbatch_promises_nothing(void **state)
{
    (void) state;
    assert_text(0, 1600, 10, "iteration 12: 0.0/16 microbatches after 10 s");
    assert_text(0, 0, 0, "iteration 12: 0.0/16 microbatches after 0 s");
    assert_text(0.002, 1600, 5, "iteration 12: 0.0/16 microbatches after 5 s");
}

static void test_text_stays_inside_its_buffer(void **state)
{
    char text[20];

    (void) state;
    mtlm_progress_text("iteration 12", 3, 16, 0, 2.5, text, sizeof(text));
    assert_string_equal(text, "iteration 12: 3.0/1");
}

static struct {
    int pty, before; /* the terminal's other end; the stderr of before */
} terminal;

/* Makes stderr a terminal.  The thread starts anew, and sees the terminal. */
static int open_terminal(void **state)
{
    int end;

    (void) state;
    mtlm_progress_stop();
    terminal.before = dup(STDERR_FILENO);
    terminal.pty = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal.pty < 0 || grantpt(terminal.pty) != 0
        || unlockpt(terminal.pty) != 0)
        return -1;
    end = open(ptsname(terminal.pty), O_RDWR | O_NOCTTY);
    if (end < 0)
        return -1;
    dup2(end, STDERR_FILENO);
    close(end);
    return 0;
}

static int close_terminal(void **state)
{
    (void) state;
    mtlm_progress_stop();
    dup2(terminal.before, STDERR_FILENO);
    close(terminal.before), close(terminal.pty);
    return 0;
}

/* Waits for what the terminal shows of an iteration, after the first second,
 * and ends the iteration. */
static void assert_shown(const char *begin)
{
    char text[4096] = "";

    assert_true(read(terminal.pty, text, sizeof(text) - 1) > 0);
    mtlm_progress_end();
    if (strncmp(text, begin, strlen(begin)) != 0)
        fail_msg("%s", text);
    assert_true(read(terminal.pty, text, sizeof(text)) > 0); /* cleared */
}

static void *add_many(void *arg)
{
    (void) arg;
    for (int i = 0; i < 1000000; i++)
        mtlm_progress_add(1);
    return NULL;
}

static void test_threads_lose_no_microbatch(void **state)
{
    pthread_t thread[4];

    (void) state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    mtlm_progress_start("iteration 1", 4000000, 0);
    assert_shown("\riteration 1: 4000000/4000000 microbatches, ");
}

static void test_early_microbatches_count_for_the_next_iteration(void **state)
{
    (void) state;
    for (int i = 0; i < 5; i++)
        mtlm_progress_add(1);
    mtlm_progress_start("iteration 2", 4, 0);
    assert_shown("\riteration 2: 4.0/4 microbatches, ");
    mtlm_progress_add(0.5);
    mtlm_progress_add(0.5);
    mtlm_progress_start("iteration 3", 4, 0);
    assert_shown("\riteration 3: 2.0/4 microbatches, ");
    mtlm_progress_add(1);
    mtlm_progress_add(1);
}

/* The text begins so, and not much more than seconds later (others may be
 * busy on this machine). */
static void assert_after(const char *text, const char *begin, int seconds)
{
    const size_t n = strlen(begin);

    if (strncmp(text, begin, n) != 0)
        fail_msg("%s", text);
    assert_in_range(atoi(text + n), seconds, 10 * seconds);
}

/* With no microbatch done: what a terminal shows after the first second. */
static void test_a_long_iteration_shows_itself(void **state)
{
    char text[256] = "";

    (void) state;
    mtlm_progress_start("iteration 7", 16, 0);
    assert_true(read(terminal.pty, text, sizeof(text) - 1) > 0);
    mtlm_progress_add(16);
    mtlm_progress_end();
    assert_after(text, "\riteration 7: 0.0/16 microbatches after ", 1);
}

/* In a file or a pipe there is no line to rewrite. */
static void test_a_long_iteration_is_in_a_log_as_well(void **state)
{
    const int before = dup(STDERR_FILENO);
    char text[256] = "";
    int end[2];
    ssize_t n;

    (void) state;
    assert_int_equal(pipe(end), 0);
    dup2(end[1], STDERR_FILENO);
    mtlm_progress_stop();
    mtlm_progress_start("iteration 8", 16, 0);
    n = read(end[0], text, sizeof(text) - 1);
    mtlm_progress_end();
    mtlm_progress_stop();
    dup2(before, STDERR_FILENO);
    close(before), close(end[0]), close(end[1]);
    assert_true(n > 0);
    assert_after(text, "iteration 8: 0.0/16 microbatches after ", 5);
    assert_non_null(strstr(text, " s\n"));
}

#define ON_TERMINAL(test)                                                      \
    cmocka_unit_test_setup_teardown(test, open_terminal, close_terminal)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_has_count_rate_and_time_left),
        cmocka_unit_test(test_text_counts_parts_of_microbatches),
        cmocka_unit_test(test_text_knows_the_whole_run),
        cmocka_unit_test(test_text_without_a_microbatch_promises_nothing),
        cmocka_unit_test(test_text_stays_inside_its_buffer),
        ON_TERMINAL(test_threads_lose_no_microbatch),
        ON_TERMINAL(test_early_microbatches_count_for_the_next_iteration),
        ON_TERMINAL(test_a_long_iteration_shows_itself),
        cmocka_unit_test(test_a_long_iteration_is_in_a_log_as_well),
    };

    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
