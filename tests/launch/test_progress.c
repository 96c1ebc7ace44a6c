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

static void *add_many(void *arg)
{
    (void) arg;
    for (int i = 0; i < 10000; i++)
        mtlm_progress_add(1);
    return NULL;
}

static void test_threads_lose_no_microbatch(void **state)
{
    pthread_t thread[4];

    (void) state;
    mtlm_progress_start("iteration 1", 40000, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_true(mtlm_progress_done() == 40000);
    mtlm_progress_end();
}

static void test_early_microbatches_count_for_the_next_iteration(void **state)
{
    (void) state;
    mtlm_progress_start("iteration 2", 4, 0);
    assert_true(mtlm_progress_done() == 0);
    for (int i = 0; i < 5; i++)
        mtlm_progress_add(1);
    assert_true(mtlm_progress_done() == 4);
    mtlm_progress_end();
    mtlm_progress_add(0.5);
    mtlm_progress_add(0.5);
    mtlm_progress_start("iteration 3", 4, 0);
    assert_true(mtlm_progress_done() == 2);
    mtlm_progress_add(1);
    mtlm_progress_add(1);
    mtlm_progress_end();
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
    int pty[2] = {posix_openpt(O_RDWR | O_NOCTTY), -1};
    const int before = dup(STDERR_FILENO);
    char text[256] = "";
    ssize_t n;

    (void) state;
    assert_true(pty[0] >= 0 && grantpt(pty[0]) == 0 && unlockpt(pty[0]) == 0);
    pty[1] = open(ptsname(pty[0]), O_RDWR | O_NOCTTY);
    assert_true(pty[1] >= 0);
    dup2(pty[1], STDERR_FILENO);
    mtlm_progress_stop(); /* the thread starts anew, and sees the terminal */
    mtlm_progress_start("iteration 7", 16, 0);
    n = read(pty[0], text, sizeof(text) - 1); /* waits for it */
    mtlm_progress_add(16);
    mtlm_progress_end();
    mtlm_progress_stop();
    dup2(before, STDERR_FILENO);
    close(before), close(pty[0]), close(pty[1]);
    assert_true(n > 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_has_count_rate_and_time_left),
        cmocka_unit_test(test_text_counts_parts_of_microbatches),
        cmocka_unit_test(test_text_knows_the_whole_run),
        cmocka_unit_test(test_text_without_a_microbatch_promises_nothing),
        cmocka_unit_test(test_text_stays_inside_its_buffer),
        cmocka_unit_test(test_threads_lose_no_microbatch),
        cmocka_unit_test(test_early_microbatches_count_for_the_next_iteration),
        cmocka_unit_test(test_a_long_iteration_shows_itself),
        cmocka_unit_test(test_a_long_iteration_is_in_a_log_as_well),
    };

    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
