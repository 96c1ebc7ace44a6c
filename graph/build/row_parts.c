/* Cuts samples along the sequence into parts. */

#include "config.h"

#include "graph/build/row_parts.h"
#include "graph/layout.h"

/* A matrix product of GOOD_ROWS rows reaches about 0.97 of the speed of a long
 * product, LEAST_ROWS rows about 0.85: OpenBLAS packs the weights anew for
 * every product.  Measured with OpenBLAS 0.3.21 on a Zen 4 core, weights of
 * GPT-2 124M. */
enum { GOOD_ROWS = 512, LEAST_ROWS = 128 };

/* Parts of all microbatches of an iteration that the rule aims at. */
enum { ENOUGH = 4 };

int mtlm_row_parts_count(int64_t s, int64_t b, int64_t m)
{
    const int64_t rows = s * b, wanted = (ENOUGH + m - 1) / m;
    int64_t n = rows / GOOD_ROWS;

    /* Two workers on short products are faster than one on long ones. */
    if (n < 2 && rows >= 2 * LEAST_ROWS)
        n = 2;
    if (n > wanted)
        n = wanted;
    if (n > s)
        n = s;
    return n < 1 ? 1 : (int) n;
}

/* Returns the rows that stay together: a whole part if n divides s.  Else a
 * divisor of s, small enough for parts that differ by at most an eighth; at
 * least 1. */
static int64_t choose_unit(int64_t s, int n)
{
    int64_t rows = s / (8 * n);

    if (s % n == 0)
        return s / n;
    while (rows > 1 && s % rows)
        rows--;
    return rows > 1 ? rows : 1;
}

void mtlm_row_parts_get(int64_t s, int n, int i, int64_t *first, int64_t *count)
{
    const int64_t rows = choose_unit(s, n);

    mtlm_layout_split(s / rows, n, i, first, count);
    *first *= rows;
    *count *= rows;
}

bool mtlm_row_parts_divide(int64_t s, int n, int t)
{
    for (int i = 0; i < n; i++) {
        int64_t first, count;

        mtlm_row_parts_get(s, n, i, &first, &count);
        if (count % t)
            return false;
    }
    return true;
}
