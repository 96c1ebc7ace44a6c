/* The file of offloaded state: damage and a full disk are refused by a
 * sentence, and nothing stays behind. */

#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/file_limit.h"
#include "tests/runtime/pieces.h"

static void test_a_changed_byte_is_noticed(void **state)
{
    struct mtlm_offload_file *file = pieces_create();
    char *out = pieces_filled(1), *in = pieces_memory(), byte;
    struct mtlm_error err;
    int fd;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(file, 0, PIECES_N, out, &err), 0);
    fd = pieces_open_beside();
    assert_int_equal(pread(fd, &byte, 1, pieces_place(3) + 77), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, pieces_place(3) + 77), 1);
    fsync(fd);
    close(fd);
    assert_int_equal(mtlm_offload_file_read(file, 0, 3, in, &err), 0);
    assert_int_equal(
        mtlm_offload_file_read(file, 2, 2, in + pieces_place(2), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "came back changed"));
    assert_non_null(strstr(err.text, pieces_dir));
    mtlm_offload_file_destroy(file);
    free(out);
    free(in);
}

static void test_a_short_file_is_noticed(void **state)
{
    struct mtlm_offload_file *file = pieces_create();
    char *out = pieces_filled(1), *in = pieces_memory();
    struct mtlm_error err;
    int fd;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(file, 0, PIECES_N, out, &err), 0);
    fd = pieces_open_beside();
    assert_int_equal(ftruncate(fd, pieces_place(4)), 0);
    close(fd);
    assert_int_equal(mtlm_offload_file_read(file, 0, 4, in, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES_N, in, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "cut short"));
    mtlm_offload_file_destroy(file);
    free(out);
    free(in);
}

/* What the disk refuses stays in memory: the job can save it. */
static void test_what_the_disk_refuses_is_kept(void **state)
{
    struct mtlm_offload_file *file = pieces_create();
    char *out = pieces_filled(1), *next = pieces_filled(2),
         *in = pieces_memory();
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(file, 0, PIECES_N, out, &err), 0);
    file_limit(0);
    assert_int_equal(
        mtlm_offload_file_write(file, 1, 2, next + pieces_place(1), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "cannot be written"));
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES_N, in, &err), 0);
    for (int p = 0; p < PIECES_N; p++)
        pieces_assert(in + pieces_place(p), p, p == 1 || p == 2 ? 2 : 1);
    file_limit(RLIM_INFINITY);
    assert_int_equal(mtlm_offload_file_write(file, 0, PIECES_N, out, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES_N, in, &err), 0);
    for (int p = 0; p < PIECES_N; p++)
        pieces_assert(in + pieces_place(p), p, 1);
    mtlm_offload_file_destroy(file);
    free(out);
    free(next);
    free(in);
}

static void test_no_room_is_refused_at_the_start(void **state)
{
    const int64_t petabyte = INT64_C(1) << 50;
    struct mtlm_error err;

    (void) state;
    assert_null(mtlm_offload_file_create(pieces_dir, &petabyte, 1, &err));
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "no room for"));
    assert_int_equal(pieces_names(), 0);
}

static void test_a_killed_process_leaves_nothing(void **state)
{
    const pid_t child = fork();
    int status;

    (void) state;
    if (child == 0) {
        struct mtlm_offload_file *file = pieces_create();
        char *out = pieces_filled(1);
        struct mtlm_error err;

        mtlm_offload_file_write(file, 0, PIECES_N, out, &err);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(pieces_names(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_changed_byte_is_noticed),
        cmocka_unit_test(test_a_short_file_is_noticed),
        cmocka_unit_test(test_what_the_disk_refuses_is_kept),
        cmocka_unit_test(test_no_room_is_refused_at_the_start),
        cmocka_unit_test(test_a_killed_process_leaves_nothing),
    };
    enum { TESTS = sizeof(tests) / sizeof(tests[0]) };
    struct CMUnitTest both[2 * TESTS + 1];

    pieces_both_ways(tests, TESTS, both);
    return cmocka_run_group_tests(both, pieces_make_dir, pieces_remove_dir);
}
