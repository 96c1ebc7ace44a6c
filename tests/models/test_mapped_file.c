/* Mapped files: what cannot be mapped, and what happens when one shrinks. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/file/mapped_file.h"
#include "tests/models/files.h"

static void test_the_content_is_there(void **state)
{
    struct mtlm_mapped_file file;

    (void) state;
    files_write("content", "abc", 3);
    assert_int_equal(mtlm_mapped_file_open(&file, files_path("content"), NULL),
                     0);
    assert_int_equal(file.bytes, 3);
    assert_memory_equal(file.data, "abc", 3);
    assert_string_equal(file.path, files_path("content"));
    mtlm_mapped_file_close(&file);
    mtlm_mapped_file_close(&file);
    files_write("content", "", 0);
    assert_int_equal(mtlm_mapped_file_open(&file, files_path("content"), NULL),
                     0);
    assert_int_equal(file.bytes, 0);
    mtlm_mapped_file_close(&file);
}

static void refused(const char *path, const char *why)
{
    struct mtlm_mapped_file file;
    struct mtlm_error err = {0};

    assert_int_equal(mtlm_mapped_file_open(&file, path, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, why));
    mtlm_mapped_file_close(&file);
}

/* A FIFO without a writer must not hang either. */
static void test_other_than_regular_files_are_refused(void **state)
{
    (void) state;
    assert_int_equal(mkfifo(files_path("fifo"), 0600), 0);
    refused(files_path("fifo"), "fifo: not a regular file");
    refused("/", "/: not a regular file");
    refused("/dev/zero", "/dev/zero: not a regular file");
    refused(files_path("missing"), "missing: No such file");
}

/* In a process of its own: reads one of two files, which has just become
 * shorter. */
static void read_shrunk(int stderr_fd)
{
    struct mtlm_mapped_file other, file;

    dup2(stderr_fd, STDERR_FILENO);
    if (mtlm_mapped_file_open(&file, files_path("shrinks"), NULL) < 0
        || mtlm_mapped_file_open(&other, files_path("stays"), NULL) < 0
        || truncate(files_path("shrinks"), 0) < 0)
        _exit(100);
    _exit(file.data[2] == 'c' ? 101 : 102);
}

static void test_a_file_that_shrinks_ends_the_process_with_a_sentence(
    void **state)
{
    char text[1024] = "";
    int fd[2], status;
    pid_t child;

    (void) state;
    files_write("shrinks", "abc", 3);
    files_write("stays", "abc", 3);
    assert_int_equal(pipe(fd), 0);
    child = fork();
    if (child == 0)
        read_shrunk(fd[1]);
    close(fd[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(fd[0], text, sizeof(text) - 1) > 0);
    close(fd[0]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), MTLM_EXIT_INPUT);
    assert_non_null(strstr(text, "shrinks: the file became shorter"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_content_is_there),
        cmocka_unit_test(test_other_than_regular_files_are_refused),
        cmocka_unit_test(
            test_a_file_that_shrinks_ends_the_process_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
