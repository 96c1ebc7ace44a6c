/* Small products in tiles, and how their factors are packed. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/tile.h"
#include "tests/codelets/support.h"

enum { ROWS = MTLM_TILE_ROWS, K = 37, MOST = 3 * MTLM_TILE_COLS };

static struct mtlm_scratch scratch;

/* n elements where tiles may be. */
static mtlm_real *aligned(int64_t n)
{
    mtlm_real *x = mtlm_scratch_get(&scratch, 4 * n * sizeof(*x));

    fill_normal(x, 4 * n, 5);
    return x;
}

/* Every width of whole vectors up to three tiles, a by rows and transposed. */
static void test_products_are_right_at_every_width(void **state)
{
    enum { LD = MOST + MTLM_LANES };
    mtlm_real *a = new_normal(ROWS * K, 1);
    mtlm_real *b = aligned(K * MOST), *c = b + K * MOST;
    double want[ROWS * MOST];

    (void) state;
    for (int64_t n = MTLM_LANES; n <= MOST; n += MTLM_LANES)
        for (int add = 0; add < 2; add++)
            for (int transposed = 0; transposed < 2; transposed++) {
                const struct mtlm_factor factor = {a, transposed ? 1 : K,
                                                   transposed ? ROWS : 1};

                fill_normal(c, ROWS * LD, 3);
                for (int64_t i = 0; i < ROWS * n; i++) {
                    const int64_t r = i / n, col = i % n;

                    want[i] = add ? c[r * LD + col] : 0;
                    for (int64_t p = 0; p < K; p++)
                        want[i] += (double) a[r * factor.rs + p * factor.cs]
                                   * b[p * MOST + col];
                }
                mtlm_tile_row(K, factor, b, MOST, n, add, c, LD);
                for (int64_t r = 0; r < ROWS; r++)
                    assert_true(worst_error(c + r * LD, want + r * n, n)
                                < 1e-5);
            }
    free(a);
}

/* Any number of rows and columns: what is missing is zero. */
static void test_packing_pads_with_zeros(void **state)
{
    enum { LD = 2 * MTLM_LANES + 9 };
    static const int64_t counts[] = {
        1, 2, 5, MTLM_LANES, MTLM_LANES + 3, 2 * MTLM_LANES};
    const int64_t rows_of[] = {1, 3, MTLM_LANES, MTLM_TILE_COLS,
                               MTLM_TILE_COLS + 5};
    mtlm_real *from = new_normal(2 * MOST * LD, 1);
    mtlm_real *to = aligned(2 * MOST * LD);

    (void) state;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 5; j++) {
            const int64_t cols = counts[i], rows = rows_of[j];
            const int64_t width = mtlm_tile_whole_vectors(cols);

            mtlm_tile_pack_rows(from, LD, rows, cols, to);
            for (int64_t e = 0; e < rows * width; e++)
                assert_true(to[e]
                            == (e % width < cols
                                    ? from[e / width * LD + e % width]
                                    : 0));
            mtlm_tile_pack_transposed(from, LD, rows, cols, to);
            for (int64_t r = 0; r < mtlm_tile_whole_tiles(rows); r++)
                for (int64_t c = 0; c < cols; c++) {
                    const int64_t panel = r / MTLM_TILE_COLS;

                    assert_true(to[(panel * cols + c) * MTLM_TILE_COLS
                                   + r % MTLM_TILE_COLS]
                                == (r < rows ? from[r * LD + c] : 0));
                }
        }
    free(from);
}

static int free_scratch(void **state)
{
    (void) state;
    mtlm_scratch_free(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_are_right_at_every_width),
        cmocka_unit_test(test_packing_pads_with_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, free_scratch);
}
