/* Signals remove unfinished files, and end the process as by default. */

#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/file/unfinished.h"
#include "tests/runtime/child.h"

static const int ending[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};

/* A directory, a file in it that is unfinished, one that is finished. */
static char dir[] = "/tmp/mtlm-unfinished.XXXXXX";
static char *place, *part, *whole;

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file || fclose(file))
        _exit(1);
}

static int raise_number(const void *number)
{
    mkdir(place, 0700);
    mtlm_unfinished_add(place);
    make_file(whole);
    mtlm_unfinished_add(whole);
    mtlm_unfinished_drop(1);
    make_file(part);
    mtlm_unfinished_add(part);
    raise(*(const int *) number);
    return 42;
}

static int ignore_and_raise(const void *number)
{
    signal(*(const int *) number, SIG_IGN);
    return raise_number(number);
}

static void test_a_signal_removes_what_is_unfinished(void **state)
{
    char text[256];

    (void) state;
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        const int status = child_status(raise_number, &ending[i], text);

        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), ending[i]);
        assert_int_equal(access(whole, F_OK), 0);
        assert_int_equal(access(part, F_OK), -1);
        assert_int_equal(access(place, F_OK), -1);
    }
}

static void test_ignored_signals_remove_nothing(void **state)
{
    char text[256];
    const int status = child_status(ignore_and_raise, &ending[1], text);

    (void) state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    assert_int_equal(access(part, F_OK), 0);
}

static int make_dir(void **state)
{
    (void) state;
    if (!mkdtemp(dir))
        return -1;
    place = mtlm_sprintf("%s/place", dir);
    part = mtlm_sprintf("%s/part", place);
    whole = mtlm_sprintf("%s/whole", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void) state;
    remove(part);
    remove(place);
    remove(whole);
    free(place);
    free(part);
    free(whole);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signal_removes_what_is_unfinished),
        cmocka_unit_test(test_ignored_signals_remove_nothing),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
