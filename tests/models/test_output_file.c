/* Output files: whole under their name, or written to a pipe. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/file/output_file.h"
#include "tests/models/files.h"

static void write_text(const char *path, const char *text)
{
    struct mtlm_error err = {0};
    struct mtlm_output_file *file = mtlm_output_file_create(path, &err);

    assert_non_null(file);
    assert_int_equal(mtlm_output_file_write(file, text, strlen(text), &err), 0);
    assert_int_equal(mtlm_output_file_finish(file, &err), 0);
    assert_int_equal(mtlm_output_file_publish(file, &err), 0);
    mtlm_output_file_destroy(file);
}

static void assert_content(int fd, const char *text)
{
    char found[16] = "";

    assert_int_equal(read(fd, found, sizeof(found) - 1), strlen(text));
    assert_string_equal(found, text);
}

static void test_a_file_is_replaced(void **state)
{
    int fd;

    (void) state;
    files_write("old", "older", 5);
    write_text(files_path("old"), "new");
    fd = open(files_path("old"), O_RDONLY);
    assert_content(fd, "new");
    close(fd);
}

/* As root, a rename would take the place of /dev/null. */
static void test_a_pipe_stays_a_pipe(void **state)
{
    struct stat st;
    int fd;

    (void) state;
    assert_int_equal(mkfifo(files_path("pipe"), 0600), 0);
    assert_int_equal(symlink("pipe", files_path("link")), 0);
    fd = open(files_path("pipe"), O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    write_text(files_path("pipe"), "abc");
    assert_content(fd, "abc");
    write_text(files_path("link"), "defg");
    assert_content(fd, "defg");
    assert_int_equal(lstat(files_path("pipe"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(lstat(files_path("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    close(fd);
}

static void assert_file(const char *name, const char *text)
{
    const int fd = open(files_path(name), O_RDONLY);

    assert_content(fd, text);
    close(fd);
}

static void test_a_link_to_a_file_stays_a_link(void **state)
{
    struct mtlm_output_file *file;
    struct stat st;

    (void) state;
    files_write("target", "older", 5);
    assert_int_equal(symlink("target", files_path("to target")), 0);
    write_text(files_path("to target"), "new");
    assert_int_equal(lstat(files_path("to target"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_file("target", "new");
    /* One that is not finished leaves the target as it was. */
    file = mtlm_output_file_create(files_path("to target"), NULL);
    assert_int_equal(mtlm_output_file_write(file, "half", 4, NULL), 0);
    assert_int_equal(mtlm_output_file_finish(file, NULL), 0);
    assert_file("target", "new");
    mtlm_output_file_destroy(file);
    assert_file("target", "new");
}

/* Until the file is whole, nothing has the name. */
static void test_a_link_to_nothing_leads_to_a_whole_file(void **state)
{
    struct mtlm_output_file *file;
    struct stat st;

    (void) state;
    assert_int_equal(mkdir(files_path("far"), 0700), 0);
    assert_int_equal(symlink("far/second", files_path("to nothing")), 0);
    assert_int_equal(symlink("made", files_path("far/second")), 0);
    file = mtlm_output_file_create(files_path("to nothing"), NULL);
    assert_non_null(file);
    assert_int_equal(mtlm_output_file_write(file, "half", 4, NULL), 0);
    assert_int_equal(mtlm_output_file_finish(file, NULL), 0);
    assert_int_equal(access(files_path("far/made"), F_OK), -1);
    mtlm_output_file_destroy(file);
    assert_int_equal(access(files_path("far/made"), F_OK), -1);
    write_text(files_path("to nothing"), "new");
    assert_file("far/made", "new");
    assert_int_equal(lstat(files_path("to nothing"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(files_path("far/second"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void test_a_link_into_no_directory_is_refused(void **state)
{
    struct mtlm_error err = {0};

    (void) state;
    assert_int_equal(symlink("nowhere/file", files_path("astray")), 0);
    assert_null(mtlm_output_file_create(files_path("astray"), &err));
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "/astray: No such file or directory"));
}

/* As root, a rename would take the place of the file that a shell has opened,
 * or of /dev/stdout, which is a link to this file. */
static void test_standard_output_is_written_through(void **state)
{
    struct stat before, after;
    int out;

    (void) state;
    files_write("shell's", "older", 5);
    assert_int_equal(stat(files_path("shell's"), &before), 0);
    fflush(stdout);
    out = dup(STDOUT_FILENO);
    close(STDOUT_FILENO);
    assert_int_equal(open(files_path("shell's"), O_WRONLY), STDOUT_FILENO);
    write_text("/dev/stdout", "new");
    dup2(out, STDOUT_FILENO);
    close(out);
    assert_file("shell's", "new");
    assert_int_equal(stat(files_path("shell's"), &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
}

/* Each chain of links leads to a file that is open as descriptor fd. */
static void test_a_chain_to_an_open_file_is_written_through(void **state)
{
    char link[64];
    struct stat before, after;
    int fd;

    (void) state;
    files_write("open", "older", 5);
    fd = open(files_path("open"), O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &before), 0);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(link, files_path("hop")), 0);
    assert_int_equal(symlink("hop", files_path("to hop")), 0);
    assert_int_equal(symlink("/proc/self/fd", files_path("all open")), 0);
    snprintf(link, sizeof(link), "all open/%d", fd);
    assert_int_equal(symlink(link, files_path("to one open")), 0);
    close(fd);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "to one open" : "to hop";

        files_write("open", "older", 5);
        assert_int_equal(open(files_path("open"), O_WRONLY), fd);
        write_text(files_path(name), i ? "second" : "first");
        close(fd);
        assert_file("open", i ? "second" : "first");
        assert_int_equal(stat(files_path("open"), &after), 0);
        assert_int_equal(after.st_ino, before.st_ino);
    }
}

/* Unlike the rest of /dev. */
static void test_shared_memory_has_ordinary_files(void **state)
{
    char path[] = "/dev/shm/mtlm-test-XXXXXX";
    const int fd = mkstemp(path);
    struct stat before, after;

    (void) state;
    if (fd < 0) {
        print_message("# /dev/shm takes no file here\n");
        skip();
    }
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(symlink(path, files_path("to memory")), 0);
    write_text(files_path("to memory"), "new");
    assert_int_equal(stat(path, &after), 0);
    unlink(path);
    close(fd);
    assert_int_equal(after.st_size, 3);
    assert_true(after.st_ino != before.st_ino);
}

static void test_a_directory_is_refused(void **state)
{
    struct mtlm_error err = {0};
    struct mtlm_output_file *file;

    (void) state;
    assert_int_equal(mkdir(files_path("dir"), 0700), 0);
    file = mtlm_output_file_create(files_path("dir"), &err);
    assert_non_null(file);
    assert_int_equal(mtlm_output_file_finish(file, &err), 0);
    assert_int_equal(mtlm_output_file_publish(file, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "Is a directory"));
    mtlm_output_file_destroy(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_replaced),
        cmocka_unit_test(test_a_pipe_stays_a_pipe),
        cmocka_unit_test(test_a_link_to_a_file_stays_a_link),
        cmocka_unit_test(test_a_link_to_nothing_leads_to_a_whole_file),
        cmocka_unit_test(test_a_link_into_no_directory_is_refused),
        cmocka_unit_test(test_standard_output_is_written_through),
        cmocka_unit_test(test_a_chain_to_an_open_file_is_written_through),
        cmocka_unit_test(test_shared_memory_has_ordinary_files),
        cmocka_unit_test(test_a_directory_is_refused)};

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
