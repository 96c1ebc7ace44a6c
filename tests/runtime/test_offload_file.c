/* The file of offloaded state: what is written comes back. */

#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "tests/runtime/pieces.h"

static void test_direct_files_go_by_io_uring(void **state)
{
    struct mtlm_offload_file *file = pieces_create();

    (void) state;
    assert_int_equal(mtlm_offload_file_has_rings(file),
                     mtlm_offload_file_is_direct(file) && pieces_has_uring());
    mtlm_offload_file_destroy(file);
}

static void test_values_come_back(void **state)
{
    struct mtlm_offload_file *file = pieces_create();
    char *out = pieces_filled(1), *in = pieces_memory();
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES_N, in, &err), 0);
    for (int p = 0; p < PIECES_N; p++) /* never written */
        for (int64_t i = 0; i < pieces_sizes[p]; i++)
            assert_int_equal(in[pieces_place(p) + i], 0);
    assert_int_equal(
        mtlm_offload_file_write(file, 1, 3, out + pieces_place(1), &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES_N, in, &err), 0);
    for (int p = 1; p < 4; p++)
        pieces_assert(in + pieces_place(p), p, 1);
    assert_int_equal(in[0], 0);
    assert_int_equal(in[pieces_place(4)], 0);
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
        mtlm_offload_file_create(pieces_dir, bytes, PIECES, &err);
    int fd;

    (void) state;
    assert_true(out && in && file);
    for (int64_t i = 0; i < PIECES * LARGE; i++)
        out[i] = pieces_byte(0, i / 4096, (int) i);
    assert_int_equal(mtlm_offload_file_write(file, 0, PIECES, out, &err), 0);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES, in, &err), 0);
    assert_memory_equal(in, out, PIECES * LARGE);
    fd = pieces_open_beside();
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
    struct mtlm_offload_file *file = pieces_create();
    char *values = mtlm_calloc(1, 12346), *in = pieces_memory();
    struct mtlm_error err;

    (void) state;
    for (int64_t i = 0; i < 12345; i++)
        values[1 + i] = pieces_byte(1, i, 5);
    assert_int_equal(
        mtlm_offload_file_put(file, 1, 0, values + 1, pieces_sizes[1], &err),
        0);
    memset(values, 0, 12346);
    assert_int_equal(
        mtlm_offload_file_get(file, 1, 0, values + 1, pieces_sizes[1], &err),
        0);
    pieces_assert(values + 1, 1, 5);
    assert_int_equal(mtlm_offload_file_read(file, 0, PIECES_N, in, &err), 0);
    pieces_assert(in + pieces_place(1), 1, 5);
    mtlm_offload_file_destroy(file);
    free(values);
    free(in);
}

/* Two jobs of one directory have files of their own. */
static void test_two_files_do_not_meet(void **state)
{
    struct mtlm_offload_file *a = pieces_create(), *b = pieces_create();
    char *one = pieces_filled(1), *two = pieces_filled(2),
         *in = pieces_memory();
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_offload_file_write(a, 0, PIECES_N, one, &err), 0);
    assert_int_equal(mtlm_offload_file_write(b, 0, PIECES_N, two, &err), 0);
    assert_int_equal(mtlm_offload_file_read(a, 0, PIECES_N, in, &err), 0);
    for (int p = 0; p < PIECES_N; p++)
        pieces_assert(in + pieces_place(p), p, 1);
    assert_int_equal(pieces_names(), 0);
    mtlm_offload_file_destroy(a);
    mtlm_offload_file_destroy(b);
    free(one);
    free(two);
    free(in);
}

struct work {
    struct mtlm_offload_file *file;
    int piece;
    bool good;
};

static void *use_piece(void *arg)
{
    struct work *w = arg;
    char *values = mtlm_calloc(1, pieces_sizes[w->piece]);
    struct mtlm_error err;

    w->good = true;
    for (int seed = 0; seed < 50; seed++) {
        for (int64_t i = 0; i < pieces_sizes[w->piece]; i++)
            values[i] = pieces_byte(w->piece, i, seed);
        w->good &= mtlm_offload_file_put(w->file, w->piece, 0, values,
                                         pieces_sizes[w->piece], &err)
                       == 0
                   && mtlm_offload_file_get(w->file, w->piece, 0, values,
                                            pieces_sizes[w->piece], &err)
                          == 0;
        for (int64_t i = 0; i < pieces_sizes[w->piece]; i++)
            w->good &= values[i] == pieces_byte(w->piece, i, seed);
    }
    free(values);
    return NULL;
}

static void test_threads_use_different_pieces(void **state)
{
    struct mtlm_offload_file *file = pieces_create();
    struct work work[PIECES_N];
    pthread_t thread[PIECES_N];

    (void) state;
    for (int p = 0; p < PIECES_N; p++) {
        work[p] = (struct work){file, p, false};
        assert_int_equal(pthread_create(&thread[p], NULL, use_piece, &work[p]),
                         0);
    }
    for (int p = 0; p < PIECES_N; p++) {
        pthread_join(thread[p], NULL);
        assert_true(work[p].good);
    }
    mtlm_offload_file_destroy(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct_files_go_by_io_uring),
        cmocka_unit_test(test_values_come_back),
        cmocka_unit_test(test_large_pieces),
        cmocka_unit_test(test_one_piece_anywhere),
        cmocka_unit_test(test_bytes_across_pieces),
        cmocka_unit_test(test_two_files_do_not_meet),
        cmocka_unit_test(test_threads_use_different_pieces),
    };
    enum { TESTS = sizeof(tests) / sizeof(tests[0]) };
    struct CMUnitTest both[2 * TESTS + 1];

    pieces_both_ways(tests, TESTS, both);
    return cmocka_run_group_tests(both, pieces_make_dir, pieces_remove_dir);
}
