/* The nearest name to a mistyped one, by edit distance. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/options/suggest.h"

/* Longer names are cut; all names of options differ within this length. */
#define LENGTH 48

static int min(int a, int b)
{
    return a < b ? a : b;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

/* Returns the optimal string alignment distance of a and b: insertions,
 * deletions, replacements and swaps of neighbours.  Returns most + 1 for a
 * distance above most.  Computes only the cells within most of the diagonal:
 * all others are above most. */
static int distance(const char *a, int na, const char *b, int nb, int most)
{
    int rows[3][LENGTH + 2];
    int *before = rows[0], *last = rows[1], *now = rows[2];

    for (int j = 0; j <= nb; j++)
        last[j] = j;
    for (int i = 1; i <= na; i++) {
        const int from = max(1, i - most), to = min(nb, i + most);
        int *unused = before, least;

        now[from - 1] = least = from > 1 ? most + 1 : i;
        now[to + 1] = most + 1;
        for (int j = from; j <= to; j++) {
            now[j] = min(last[j - 1] + (a[i - 1] != b[j - 1]),
                         min(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min(now[j], before[j - 2] + 1);
            least = min(least, now[j]);
        }
        if (least > most)
            return most + 1;
        before = last, last = now, now = unused;
    }
    return min(last[nb], most + 1);
}

void mtlm_suggest_offer(struct mtlm_suggest *nearest, const char *candidate)
{
    const int na = (int) strnlen(nearest->name, LENGTH);
    const int nb = (int) strnlen(candidate, LENGTH);
    const int most = min(3, (na + 2) / 3);
    /* A difference in length is a lower bound of the distance. */
    int d = abs(na - nb) > most
                ? most + 1
                : distance(nearest->name, na, candidate, nb, most);

    /* "layers" is far from "num-layers", but the user means this option. */
    if (na >= 4 && strstr(candidate, nearest->name))
        d = min(d, 2);
    if (d > most || (nearest->best && d >= nearest->distance))
        return;
    nearest->best = candidate;
    nearest->distance = d;
}
