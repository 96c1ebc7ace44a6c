/* Pieces in host memory: what is stored comes back, and what nobody wrote is
 * zeros.  Copies go to the host's own memory node here; a GPU is in
 * tests/emulator/offload.sh. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <starpu.h>

#include "runtime/disk/host_pieces.h"
#include "runtime/file/offload_file.h"

enum { N = 4, ALIGN = MTLM_OFFLOAD_ALIGN };

static const int64_t sizes[N] = {1000, ALIGN, 2 * ALIGN, 7};
static char out[5 * ALIGN], in[5 * ALIGN];

/* Returns where the piece lies in memory of all pieces. */
static int64_t place_of(int piece)
{
    int64_t at = 0;

    for (int i = 0; i < piece; i++)
        at += mtlm_offload_file_padded(sizes[i]);
    return at;
}

static struct mtlm_host_pieces *create_pieces(void)
{
    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (char) (1 + i % 126);
    memset(in, -1, sizeof(in));
    return mtlm_host_pieces_create(sizes, N, STARPU_MAIN_RAM);
}

/* The piece holds what out has there, or zeros. */
static void expect(int piece, bool written)
{
    for (int64_t i = 0; i < sizes[piece]; i++)
        assert_int_equal(in[place_of(piece) + i],
                         written ? out[place_of(piece) + i] : 0);
}

static void test_pieces_come_back(void **state)
{
    struct mtlm_host_pieces *pieces = create_pieces();

    (void) state;
    mtlm_host_pieces_load(pieces, 0, N, in);
    for (int i = 0; i < N; i++)
        expect(i, false);
    mtlm_host_pieces_store(pieces, 1, 2, out + place_of(1));
    mtlm_host_pieces_load(pieces, 0, N, in);
    for (int i = 0; i < N; i++)
        expect(i, i == 1 || i == 2);
    mtlm_host_pieces_clear(pieces, 2, 1);
    mtlm_host_pieces_load(pieces, 1, 2, in + place_of(1));
    expect(1, true);
    expect(2, false);
    mtlm_host_pieces_destroy(pieces);
}

static void test_parts_of_pieces(void **state)
{
    struct mtlm_host_pieces *pieces = create_pieces();
    char got[ALIGN + 20];

    (void) state;
    /* Across two pieces; what is left of both is zeros. */
    mtlm_host_pieces_put(pieces, 1, ALIGN - 10, out, 30);
    mtlm_host_pieces_get(pieces, 1, ALIGN - 10, got, 30);
    assert_memory_equal(got, out, 30);
    mtlm_host_pieces_load(pieces, 1, 2, in);
    assert_int_equal(in[ALIGN - 11], 0);
    assert_memory_equal(in + ALIGN - 10, out, 30);
    assert_int_equal(in[ALIGN + 20], 0);
    /* A cleared piece has no old bytes, in part either. */
    mtlm_host_pieces_clear(pieces, 1, 1);
    mtlm_host_pieces_put(pieces, 1, 0, out, 1);
    mtlm_host_pieces_get(pieces, 1, 0, got, ALIGN + 20);
    assert_int_equal(got[0], out[0]);
    for (int i = 1; i < ALIGN; i++)
        assert_int_equal(got[i], 0);
    assert_memory_equal(got + ALIGN, out + 10, 20);
    mtlm_host_pieces_destroy(pieces);
}

static int start(void **state)
{
    struct starpu_conf conf;

    (void) state;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    return starpu_init(&conf);
}

static int stop(void **state)
{
    (void) state;
    starpu_shutdown();
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_come_back),
        cmocka_unit_test(test_parts_of_pieces),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
