/* The progress of a long iteration: its text, and its count. */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/log/progress.h"
#include "launch/log/progress_text.h"

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

static void assert_bar(struct mtlm_progress_text_bar bar, int columns,
                       const char *want)
{
    char *text = mtlm_progress_text_bar(&bar, columns, false);

    assert_string_equal(text, want);
    free(text);
}

static void test_bar_fills_its_columns(void **state)
{
    struct mtlm_progress_text_bar bar = {.what = "iteration 12",
                                         .number = 50,
                                         .share = 0.24,
                                         .seconds_left = 42,
                                         .rate = 1.2};
    char *text;

    (void) state;
    assert_bar(bar, 80,
               "iteration 12/50 [=====>                 ] 24 % | 42 s left | "
               "1.2 microbatches/s");
    bar.done = 3.1;
    bar.total = 16;
    assert_bar(bar, 120,
               "iteration 12/50 [=========>                              ] "
               "24 % | 42 s left | 1.2 microbatches/s | 3.1/16 microbatches");
    bar.share = 1;
    bar.note = "stops after at most one more iteration";
    assert_bar(bar, 80,
               "iteration 12/50 [==============] 100 % | "
               "stops after at most one more iteration");
    text = mtlm_progress_text_bar(&bar, 80, true);
    assert_non_null(strstr(text, "[\033[32m==============\033[0m]"));
    free(text);
}

/* A line as long as the terminal would wrap, and could not be cleared. */
static void test_bar_is_shorter_than_the_terminal(void **state)
{
    const struct mtlm_progress_text_bar bar = {.what = "iteration 12345678",
                                               .number = 1000000000,
                                               .share = 0.999,
                                               .seconds_left = 1e9,
                                               .rate = 123456,
                                               .done = 1e6,
                                               .total = 10000000};

    (void) state;
    for (int columns = 0; columns < 1000; columns++) {
        char *text = mtlm_progress_text_bar(&bar, columns, false);

        assert_true(strlen(text) < (size_t) (columns > 1 ? columns : 1));
        free(text);
    }
    assert_bar(bar, 60,
               "iteration 12345678/1000000000 [=====================>] 99 %");
    assert_bar(bar, 20, "iteration 12345678/");
}

static struct {
    int pty, before; /* the terminal's other end; the stderr of before */
} terminal;

static void set_columns(int columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};

    assert_int_equal(ioctl(terminal.pty, TIOCSWINSZ, &size), 0);
}

/* Makes stderr a terminal.  The thread starts anew, and sees the terminal. */
static int open_terminal(void **state)
{
    int end;

    (void) state;
    mtlm_progress_stop();
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
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
    set_columns(160);
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

static void start(const char *what, int iteration, int iterations,
                  int microbatches)
{
    mtlm_progress_start(
        &(struct mtlm_progress_work){.what = what,
                                     .iteration = iteration,
                                     .iterations = iterations,
                                     .microbatches = microbatches});
}

/* Waits for what the terminal shows next. */
static void assert_shown(const char *begin, const char *end)
{
    char text[4096] = "";

    assert_true(read(terminal.pty, text, sizeof(text) - 1) > 0);
    if (strncmp(text, begin, strlen(begin)) != 0 || !strstr(text, end))
        fail_msg("%s", text);
}

static void assert_cleared(void)
{
    mtlm_progress_end();
    mtlm_progress_hide();
    assert_shown("\r\033[K", "");
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
    start("validation", 0, 0, 4000000);
    assert_shown("\rvalidation [====",
                 " | 4000000/4000000 microbatches\033[K\r");
    assert_cleared();
}

static void test_early_microbatches_count_for_the_next_iteration(void **state)
{
    (void) state;
    for (int i = 0; i < 5; i++)
        mtlm_progress_add(1);
    start("validation", 0, 0, 4);
    assert_shown("\rvalidation [", " | 4.0/4 microbatches\033[K\r");
    assert_cleared();
    mtlm_progress_add(0.5);
    mtlm_progress_add(0.5);
    start("validation", 0, 0, 4);
    assert_shown("\rvalidation [", " | 2.0/4 microbatches\033[K\r");
    mtlm_progress_add(1);
    mtlm_progress_add(1);
}

/* The bar is the run's, stays over the ends of iterations, and makes room for a
 * line. */
static void test_bar_stays_until_a_line_comes(void **state)
{
    (void) state;
    start("iteration 3", 3, 5, 4);
    mtlm_progress_add(2);
    assert_shown("\riteration 3/5 [", "] 50 % | ");
    mtlm_progress_add(2);
    mtlm_progress_end();
    start("iteration 4", 4, 5, 4);
    assert_shown("\riteration 4/5 [", "] 60 % | ");
    assert_cleared();
    set_columns(40);
    start("iteration 5", 5, 5, 4);
    assert_shown("\riteration 5/5 [==============>   ] 80 %\033[K\r", "");
    mtlm_progress_stop();
    assert_shown("\r\033[K", "");
    mtlm_progress_add(8);
}

/* A limit of time may end the run before its last iteration. */
static void test_bar_knows_the_limit_of_time(void **state)
{
    struct mtlm_progress_work work = {.what = "iteration 1",
                                      .iteration = 1,
                                      .iterations = 100,
                                      .microbatches = 4,
                                      .seconds_left = 5400};

    (void) state;
    mtlm_progress_start(&work);
    assert_shown("\riteration 1/100 [", "] 0 % | 90 min left\033[K\r");
    mtlm_progress_add(4);
    mtlm_progress_end();
    work.after = INT64_C(1000000000);
    mtlm_progress_start(&work);
    assert_shown("\riteration 1/100 [", "] 0 % | 90 min left | ");
    mtlm_progress_add(4);
    mtlm_progress_end();
    work.after = 0;
    mtlm_progress_start(&work);
    assert_shown("\riteration 1/100 [", " s left | ");
    mtlm_progress_add(4);
    mtlm_progress_end();
}

/* mpirun's pseudo terminals are no person's. */
static void test_launched_ranks_draw_no_bar(void **state)
{
    struct pollfd end = {.fd = terminal.pty, .events = POLLIN};

    (void) state;
    mtlm_progress_start(&(struct mtlm_progress_work){.what = "iteration 1",
                                                     .iteration = 1,
                                                     .iterations = 5,
                                                     .microbatches = 4,
                                                     .launched = true});
    assert_int_equal(poll(&end, 1, 1500), 0);
    mtlm_progress_add(4);
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
    start("iteration 8", 8, 9, 16);
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
        cmocka_unit_test(test_bar_fills_its_columns),
        cmocka_unit_test(test_bar_is_shorter_than_the_terminal),
        ON_TERMINAL(test_threads_lose_no_microbatch),
        ON_TERMINAL(test_early_microbatches_count_for_the_next_iteration),
        ON_TERMINAL(test_bar_stays_until_a_line_comes),
        ON_TERMINAL(test_bar_knows_the_limit_of_time),
        ON_TERMINAL(test_launched_ranks_draw_no_bar),
        cmocka_unit_test(test_a_long_iteration_is_in_a_log_as_well),
    };

    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
