/* Errors of the user, and those that end the job. */

#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/error.h"
#include "tests/runtime/child.h"

static void test_an_error_holds_code_and_sentence(void **state)
{
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_error_set(&err, MTLM_EXIT_INPUT, "%s: %d", "file", 3),
                     -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_string_equal(err.text, "file: 3");
    assert_int_equal(mtlm_error_set(NULL, MTLM_EXIT_INPUT, "unheard"), -1);
}

static void test_a_prefix_comes_first_and_keeps_the_code(void **state)
{
    struct mtlm_error err;

    (void) state;
    mtlm_error_set(&err, MTLM_EXIT_IO, "disk full");
    assert_int_equal(mtlm_error_prefix(&err, "rank %d", 2), -1);
    assert_string_equal(err.text, "rank 2: disk full");
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_int_equal(mtlm_error_prefix(NULL, "unheard"), -1);
}

static void test_long_texts_are_cut_not_overrun(void **state)
{
    struct mtlm_error err;

    (void) state;
    mtlm_error_set(&err, MTLM_EXIT_IO, "%02000d", 0);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    mtlm_error_prefix(&err, "%0800d", 0);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text + 800, ": 0", 3);
    mtlm_error_prefix(&err, "%02000d", 0);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

/* The name of a tensor, say, in a file that somebody sent. */
static void test_what_a_file_says_moves_no_cursor(void **state)
{
    struct mtlm_error err;

    (void) state;
    mtlm_error_set(&err, MTLM_EXIT_INPUT, "tensor \"%s\"",
                   "\033[2Jw\nmtlm-dag: all is well\r\177 \303\244");
    assert_string_equal(err.text, "tensor \"?[2Jw?mtlm-dag: all is well?? "
                                  "\303\244\"");
    mtlm_error_prefix(&err, "a\tb");
    assert_memory_equal(err.text, "a?b: tensor", 11);
}

static void leave_with_one_more(int code)
{
    fflush(stderr);
    _exit(code + 1);
}

struct fatal {
    void (*hook)(int code);
    int rank;
};

static int run_fatal(const void *arg)
{
    const struct fatal *fatal = arg;

    mtlm_fatal_hook(fatal->hook, fatal->rank);
    mtlm_fatal("file.c", 12, "%s failed: %d", "call", -5);
}

/* Runs mtlm_fatal() in a process of its own: its exit code, and what it says
 * in text. */
static int fatal(void (*hook)(int code), int rank, char text[256])
{
    const int status =
        child_status(run_fatal, &(struct fatal){hook, rank}, text);

    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_fatal_error_says_where_and_calls_the_hook(void **state)
{
    char text[256];

    (void) state;
    assert_int_equal(fatal(NULL, -1, text), MTLM_EXIT_PEER);
    assert_string_equal(text, "mtlm-dag: call failed: -5 (file.c:12)\n");
    assert_int_equal(fatal(leave_with_one_more, 3, text), MTLM_EXIT_PEER + 1);
    assert_string_equal(text,
                        "mtlm-dag: rank 3: call failed: -5 (file.c:12)\n");
}

static int run_warn(const void *arg)
{
    mtlm_warn("%s: %d of 3%%", (const char *) arg, 2);
    mtlm_warn("%0100d", 7);
    mtlm_fatal_program("mtlm-convert");
    mtlm_warn("the end");
    return 5;
}

static void test_a_warning_is_a_line_and_the_job_goes_on(void **state)
{
    char text[256], want[256];
    const int status = child_status(run_warn, "read", text);

    (void) state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    snprintf(want, sizeof(want),
             "mtlm-dag: read: 2 of 3%%\nmtlm-dag: %0100d\n"
             "mtlm-convert: the end\n",
             7);
    assert_string_equal(text, want);
}

static int run_warn_without_memory(const void *arg)
{
    const struct rlimit limit = {1 << 20, 1 << 20};
    const size_t n = 1 << 26;
    char *text = malloc(n + 1);

    if (!text)
        return 98;
    memset(text, 'x', n);
    text[n] = '\0';
    if (setrlimit(RLIMIT_AS, &limit) < 0)
        return 99;
    mtlm_warn("%s: %s", (const char *) arg, text);
    return 5;
}

static void test_a_warning_without_memory_ends_no_job(void **state)
{
    char text[256];
    int status;

    (void) state;
#if __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__
    skip(); /* sanitizers need address space of their own */
#endif
    status = child_status(run_warn_without_memory, "read", text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_memory_equal(text, "mtlm-dag: read: xxx", 19);
}

/* Makes stdout a full pipe that nobody reads. */
static void fill_stdout(void)
{
    static const char zeros[4096];
    int end[2];

    if (pipe(end) < 0 || dup2(end[1], STDOUT_FILENO) < 0
        || fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0)
        _exit(99);
    for (size_t n = sizeof(zeros); n > 0; n /= 2)
        while (write(STDOUT_FILENO, zeros, n) > 0)
            ;
    fcntl(STDOUT_FILENO, F_SETFL, 0);
}

static void *put_text(void *text)
{
    puts(text);
    return NULL;
}

/* Another thread waits for the reader, and holds the lock of stdout. */
static int end_beside_a_writer(const void *sentence)
{
    pthread_t writer;

    setvbuf(stdout, NULL, _IONBF, 0);
    fill_stdout();
    if (pthread_create(&writer, NULL, put_text, "text") != 0)
        return 98;
    while (ftrylockfile(stdout) == 0) {
        funlockfile(stdout);
        usleep(1000);
    }
    mtlm_end_job(MTLM_EXIT_IO, "%s", (const char *) sentence);
}

static int end_with_more_text(const void *sentence)
{
    static char buffer[BUFSIZ];

    fill_stdout();
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    puts("text");
    mtlm_end_job(MTLM_EXIT_IO, "%s", (const char *) sentence);
}

/* mtlm-dag ... 2>&1 | less */
static int end_unread(const void *sentence)
{
    fill_stdout();
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return 97;
    mtlm_end_job(MTLM_EXIT_IO, "%s", (const char *) sentence);
}

static void test_a_reader_that_stopped_delays_no_end(void **state)
{
    const struct {
        int (*end)(const void *sentence);
        const char *text;
    } cases[] = {{end_beside_a_writer, "mtlm-dag: the end\n"},
                 {end_with_more_text, "mtlm-dag: the end\n"},
                 {end_unread, ""}};
    char text[256];

    (void) state;
#if __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer holds signals back */
#endif
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int status = child_status(cases[i].end, "the end", text);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), MTLM_EXIT_IO);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_holds_code_and_sentence),
        cmocka_unit_test(test_a_prefix_comes_first_and_keeps_the_code),
        cmocka_unit_test(test_long_texts_are_cut_not_overrun),
        cmocka_unit_test(test_what_a_file_says_moves_no_cursor),
        cmocka_unit_test(test_a_fatal_error_says_where_and_calls_the_hook),
        cmocka_unit_test(test_a_warning_is_a_line_and_the_job_goes_on),
        cmocka_unit_test(test_a_warning_without_memory_ends_no_job),
        cmocka_unit_test(test_a_reader_that_stopped_delays_no_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
