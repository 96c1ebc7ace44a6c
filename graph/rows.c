#include "config.h"

#include "graph/rows.h"

/* A matrix product of so few rows runs at about 0.97 and 0.85 of a long one's
 * speed: OpenBLAS packs the weights anew for every product (measured with its
 * 0.3.21 on a Zen 4 core, weights of GPT-2 124M). */
enum { GOOD_ROWS = 512, LEAST_ROWS = 128 };

/* Parts and microbatches that can be worked on at once, as many as this rule
 * cares for. */
enum { ENOUGH = 4 };

int mtlm_row_parts(int64_t s, int64_t b, int64_t m)
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

void mtlm_row_part(int64_t s, int n, int i, int64_t *first, int64_t *count)
{
    const int64_t each = s / n, more = s % n;

    *first = i * each + (i < more ? i : more);
    *count = each + (i < more);
}
