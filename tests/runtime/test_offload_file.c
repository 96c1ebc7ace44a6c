/* The file of offloaded state: what is written comes back, or is refused by a
 * sentence; nothing stays behind. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/file/offload_file.h"
#include "tests/file_limit.h"
#include "tests/forbid_uring.h"

static char dir[] = "/tmp/mtlm-offload.XXXXXX";

/* Pieces that are smaller, larger and as large as a block. */
static const int64_t sizes[] = {1, 12345, 4096, 100000, 8192};
enum { N = sizeof(sizes) / sizeof(sizes[0]) };

static struct mtlm_offload_file *create_file(void)
{
    struct mtlm_error err = {0};
    struct mtlm_offload_file *file =
        mtlm_offload_file_create(dir, sizes, N, &err);

    if (!file)
        fail_msg("%s", err.text);
    return file;
}

/* Returns the place of piece i in memory. */
static int64_t place_of(int i)
{
    int64_t at = 0;

    for (int j = 0; j < i; j++)
        at += mtlm_offload_file_padded(sizes[j]);
    return at;
}

static char *get_memory(void)
{
    char *memory = aligned_alloc(MTLM_OFFLOAD_ALIGN, place_of(N));

    assert_non_null(memory);
    memset(memory, 0x55, place_of(N));
    return memory;
}

static char byte_of(int piece, int64_t i, int seed)
{
    return (char) (i * 131 + piece * 7 + seed);
}

static char *get_filled(int seed)
{
    char *memory = get_memory();

    for (int p = 0; p < N; p++)
        for (int64_t i = 0; i < sizes[p]; i++)
            memory[place_of(p) + i] = byte_of(p, i, seed);
    return memory;
}

static void assert_piece(const char *at, int piece, int seed)
{
    for (int64_t i = 0; i < sizes[piece]; i++)
        assert_int_equal(at[i], byte_of(piece, i, seed));
}

static int count_names(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    int n = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

/* Opens the only file of this process in dir by another descriptor. */
static int open_beside(void)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    int found = -1;

    assert_non_null(d);
    while (found < 0 && (e = readdir(d))) {
        char path[300], to[300] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
        if (readlink(path, to, sizeof(to) - 1) > 0
            && strncmp(to, dir, strlen(dir)) == 0 && to[strlen(dir)] == '/')
            found = open(path, O_RDWR);
    }
    closedir(d);
    assert_true(found >= 0);
    return found;
}

/* Returns whether this build and this system have io_uring. */
static bool has_uring(void)
{
#ifdef HAVE_LIBURING
    char parameters[256] = {0};
    const long fd = syscall(__NR_io_uring_setup, 1, parameters);

    if (fd >= 0)
        close((int) fd);
    return fd >= 0;
#else
    return false;
#endif
}

static void test_direct_files_go_by_io_uring(void **state)
{
    struct mtlm_offload_file *file = create_file();

    (void) state;
    assert_int_equal(mtlm_offload_file_has_rings(file),
                     mtlm_offload_file_is_direct(file) && has_uring());
    mtlm_offload_file_destroy(file);
}

/* All tests behind this one go the other way. */
static void test_io_uring_can_be_forbidden(void **state)
{
    (void) state;
    if (!forbid_uring())
        skip();
    assert_false(has_uring());
}

static void test_values_come_back(void **state)
{
    struct mtlm_offload_file *file = create_file();
    char *out = get_filled(1), *in = get_memory();
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_file_read(file, 0, N, in, &err), 0);
    for (int p = 0; p < N; p++) /* never written */
        for (int64_t i = 0; i < sizes[p]; i++)
            assert_int_equal(in[place_of(p) + i], 0);
    assert_int_equal(
        mtlm_offload_file_write(file, 1, 3, out + place_of(1), &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, N, in, &err), 0);
    for (int p = 1; p < 4; p++)
        assert_piece(in + place_of(p), p, 1);
    assert_int_equal(in[0], 0);
    assert_int_equal(in[place_of(4)], 0);
    mtlm_offload_file_destroy(file);
    free(out);
    free(in);
}

/* Bytes that begin and end inside pieces: others stay. */
static void test_bytes_across_pieces(void **state)
{
    enum { PIECES = 3, BEGIN = 100, MANY = 2 * MTLM_OFFLOAD_ALIGN };
    const int64_t bytes[PIECES] = {MTLM_OFFLOAD_ALIGN, MTLM_OFFLOAD_ALIGN,
                                   MTLM_OFFLOAD_ALIGN};
    struct mtlm_error err;
    struct mtlm_offload_file *file =
        mtlm_offload_file_create(".", bytes, PIECES, &err);
    char values[PIECES * MTLM_OFFLOAD_ALIGN], got[sizeof(values)];

    (void) state;
    assert_non_null(file);
    memset(values, 1, sizeof(values));
    assert_int_equal(
        mtlm_offload_file_put(file, 0, 0, values, sizeof(values), &err), 0);
    memset(values + BEGIN, 2, MANY);
    assert_int_equal(
        mtlm_offload_file_put(file, 0, BEGIN, values + BEGIN, MANY, &err), 0);
    assert_int_equal(mtlm_offload_file_get(file, 0, 0, got, sizeof(got), &err),
                     0);
    assert_memory_equal(values, got, sizeof(got));
    memset(got, 0, sizeof(got));
    assert_int_equal(
        mtlm_offload_file_get(file, 1, 7, got, MTLM_OFFLOAD_ALIGN, &err), 0);
    assert_memory_equal(values + MTLM_OFFLOAD_ALIGN + 7, got,
                        MTLM_OFFLOAD_ALIGN);
    mtlm_offload_file_clear(file, 1, 1);
    memset(values + MTLM_OFFLOAD_ALIGN, 0, MTLM_OFFLOAD_ALIGN);
    assert_int_equal(mtlm_offload_file_get(file, 0, 0, got, sizeof(got), &err),
                     0);
    assert_memory_equal(values, got, sizeof(got));
    mtlm_offload_file_destroy(file);
}

/* Pieces that travel as many requests. */
static void test_large_pieces(void **state)
{
    enum { PIECES = 2, LARGE = (20 << 20) + 4096 };
    const int64_t bytes[PIECES] = {LARGE, LARGE};
    char *out = aligned_alloc(MTLM_OFFLOAD_ALIGN, PIECES * LARGE);
    char *in = aligned_alloc(MTLM_OFFLOAD_ALIGN, PIECES * LARGE), byte;
    struct mtlm_error err;
    struct mtlm_offload_file *file =
        mtlm_offload_file_create(dir, bytes, PIECES, &err);
    int fd;

    (void) state;
    assert_true(out && in && file);
    for (int64_t i = 0; i < PIECES * LARGE; i++)
        out[i] = byte_of(0, i / 4096, (int) i);
    assert_int_equal(mtlm_offload_file_write(file, 0, PIECES, out, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES, in, &err), 0);
    assert_memory_equal(in, out, PIECES * LARGE);
    fd = open_beside();
    byte = (char) ~out[LARGE + 7777777];
    assert_int_equal(pwrite(fd, &byte, 1, LARGE + 7777777), 1);
    fsync(fd);
    close(fd);
    assert_int_equal(mtlm_offload_file_read(file, 0, 1, in, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES, in, &err), -1);
    assert_non_null(strstr(err.text, "came back changed"));
    mtlm_offload_file_destroy(file);
    free(out);
    free(in);
}

static void test_one_piece_anywhere(void **state)
{
    struct mtlm_offload_file *file = create_file();
    char *values = mtlm_calloc(1, 12346), *in = get_memory();
    struct mtlm_error err;

    (void) state;
    for (int64_t i = 0; i < 12345; i++)
        values[1 + i] = byte_of(1, i, 5);
    assert_int_equal(
        mtlm_offload_file_put(file, 1, 0, values + 1, sizes[1], &err), 0);
    memset(values, 0, 12346);
    assert_int_equal(
        mtlm_offload_file_get(file, 1, 0, values + 1, sizes[1], &err), 0);
    assert_piece(values + 1, 1, 5);
    assert_int_equal(mtlm_offload_file_read(file, 0, N, in, &err), 0);
    assert_piece(in + place_of(1), 1, 5);
    mtlm_offload_file_destroy(file);
    free(values);
    free(in);
}

static void test_a_changed_byte_is_noticed(void **state)
{
    struct mtlm_offload_file *file = create_file();
    char *out = get_filled(1), *in = get_memory(), byte;
    struct mtlm_error err;
    int fd;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(file, 0, N, out, &err), 0);
    fd = open_beside();
    assert_int_equal(pread(fd, &byte, 1, place_of(3) + 77), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, place_of(3) + 77), 1);
    fsync(fd);
    close(fd);
    assert_int_equal(mtlm_offload_file_read(file, 0, 3, in, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 2, 2, in + place_of(2), &err),
                     -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "came back changed"));
    assert_non_null(strstr(err.text, dir));
    mtlm_offload_file_destroy(file);
    free(out);
    free(in);
}

static void test_a_short_file_is_noticed(void **state)
{
    struct mtlm_offload_file *file = create_file();
    char *out = get_filled(1), *in = get_memory();
    struct mtlm_error err;
    int fd;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(file, 0, N, out, &err), 0);
    fd = open_beside();
    assert_int_equal(ftruncate(fd, place_of(4)), 0);
    close(fd);
    assert_int_equal(mtlm_offload_file_read(file, 0, 4, in, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, N, in, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "cut short"));
    mtlm_offload_file_destroy(file);
    free(out);
    free(in);
}

/* What the disk refuses stays in memory: the job can save it. */
static void test_what_the_disk_refuses_is_kept(void **state)
{
    struct mtlm_offload_file *file = create_file();
    char *out = get_filled(1), *next = get_filled(2), *in = get_memory();
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(file, 0, N, out, &err), 0);
    file_limit(0);
    assert_int_equal(
        mtlm_offload_file_write(file, 1, 2, next + place_of(1), &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "cannot be written"));
    assert_int_equal(mtlm_offload_file_read(file, 0, N, in, &err), 0);
    for (int p = 0; p < N; p++)
        assert_piece(in + place_of(p), p, p == 1 || p == 2 ? 2 : 1);
    file_limit(RLIM_INFINITY);
    assert_int_equal(mtlm_offload_file_write(file, 0, N, out, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, N, in, &err), 0);
    for (int p = 0; p < N; p++)
        assert_piece(in + place_of(p), p, 1);
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
    assert_null(mtlm_offload_file_create(dir, &petabyte, 1, &err));
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "no room for"));
    assert_int_equal(count_names(), 0);
}

/* Two jobs of one directory have files of their own. */
static void test_two_files_do_not_meet(void **state)
{
    struct mtlm_offload_file *a = create_file(), *b = create_file();
    char *one = get_filled(1), *two = get_filled(2), *in = get_memory();
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(a, 0, N, one, &err), 0);
    assert_int_equal(mtlm_offload_file_write(b, 0, N, two, &err), 0);
    assert_int_equal(mtlm_offload_file_read(a, 0, N, in, &err), 0);
    for (int p = 0; p < N; p++)
        assert_piece(in + place_of(p), p, 1);
    assert_int_equal(count_names(), 0);
    mtlm_offload_file_destroy(a);
    mtlm_offload_file_destroy(b);
    free(one);
    free(two);
    free(in);
}

static void test_a_killed_process_leaves_nothing(void **state)
{
    const pid_t child = fork();
    int status;

    (void) state;
    if (child == 0) {
        struct mtlm_offload_file *file = create_file();
        char *out = get_filled(1);
        struct mtlm_error err;

        mtlm_offload_file_write(file, 0, N, out, &err);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_names(), 0);
}

struct work {
    struct mtlm_offload_file *file;
    int piece;
    bool good;
};

static void *use_piece(void *arg)
{
    struct work *w = arg;
    char *values = mtlm_calloc(1, sizes[w->piece]);
    struct mtlm_error err;

    w->good = true;
    for (int seed = 0; seed < 50; seed++) {
        for (int64_t i = 0; i < sizes[w->piece]; i++)
            values[i] = byte_of(w->piece, i, seed);
        w->good &= mtlm_offload_file_put(w->file, w->piece, 0, values,
                                         sizes[w->piece], &err)
                       == 0
                   && mtlm_offload_file_get(w->file, w->piece, 0, values,
                                            sizes[w->piece], &err)
                          == 0;
        for (int64_t i = 0; i < sizes[w->piece]; i++)
            w->good &= values[i] == byte_of(w->piece, i, seed);
    }
    free(values);
    return NULL;
}

static void test_threads_use_different_pieces(void **state)
{
    struct mtlm_offload_file *file = create_file();
    struct work work[N];
    pthread_t thread[N];

    (void) state;
    for (int p = 0; p < N; p++) {
        work[p] = (struct work){file, p, false};
        assert_int_equal(pthread_create(&thread[p], NULL, use_piece, &work[p]),
                         0);
    }
    for (int p = 0; p < N; p++) {
        pthread_join(thread[p], NULL);
        assert_true(work[p].good);
    }
    mtlm_offload_file_destroy(file);
}

static int make_dir(void **state)
{
    (void) state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void) state;
    return rmdir(dir);
}

/* All tests by io_uring, where there is one, and then without. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct_files_go_by_io_uring),
        cmocka_unit_test(test_values_come_back),
        cmocka_unit_test(test_large_pieces),
        cmocka_unit_test(test_one_piece_anywhere),
        cmocka_unit_test(test_bytes_across_pieces),
        cmocka_unit_test(test_a_changed_byte_is_noticed),
        cmocka_unit_test(test_a_short_file_is_noticed),
        cmocka_unit_test(test_what_the_disk_refuses_is_kept),
        cmocka_unit_test(test_no_room_is_refused_at_the_start),
        cmocka_unit_test(test_two_files_do_not_meet),
        cmocka_unit_test(test_a_killed_process_leaves_nothing),
        cmocka_unit_test(test_threads_use_different_pieces),
        cmocka_unit_test(test_io_uring_can_be_forbidden),
    };
    enum { TESTS = sizeof(tests) / sizeof(tests[0]) };
    struct CMUnitTest both[2 * TESTS - 1];

    memcpy(both, tests, sizeof(tests));
    memcpy(both + TESTS, tests, sizeof(tests) - sizeof(tests[0]));
    return cmocka_run_group_tests(both, make_dir, remove_dir);
}
