#include "config.h"

#include "graph/rows.h"

/* Below this many rows a matrix product runs at less than 9/10 of a long
 * one's speed (OpenBLAS, perf/ops). */
enum { LEAST_ROWS = 128 };

/* Parts and microbatches that can be worked on at once, as many as this rule
 * cares for. */
enum { ENOUGH = 4 };

int mtlm_row_parts(int64_t s, int64_t b, int64_t m)
{
    const int64_t wanted = (ENOUGH + m - 1) / m;
    const int64_t most = s * b / LEAST_ROWS;
    int64_t n = wanted < most ? wanted : most;

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
