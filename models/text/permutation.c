/* A random permutation computed element by element, without storage. */

#include "config.h"

#include <assert.h>
#include <math.h>

#include "models/text/permutation.h"
#include "runtime/base/philox.h"

enum { ROUNDS = 8 };

/* Returns a pseudo-random number below size for (seed, stream, round, half). */
static int64_t below(uint64_t seed, uint64_t stream, int round, int64_t half,
                     int64_t size)
{
    uint32_t r[4];

    mtlm_philox(seed, stream, (uint64_t) round << 56 | (uint64_t) half, r);
    return (int64_t) ((r[0] | (uint64_t) r[1] << 32) % (uint64_t) size);
}

/* A Feistel network on pairs (left, right) of [a, b], a * b >= n.  Each
 * round adds to one half a random function of the other.  The network permutes
 * all pairs, so repeating it from a result beyond n ends at a unique result
 * below n.  This is rare, since a * b < n + a.  Source: Black and Rogaway,
 * "Ciphers with arbitrary finite domains", 2002. */
int64_t mtlm_permutation_apply(uint64_t seed, uint64_t stream, int64_t n,
                               int64_t i)
{
    const int64_t a = (int64_t) ceil(sqrt((double) n));
    const int64_t b = (n + a - 1) / a;

    assert(0 <= i && i < n);
    do {
        int64_t left = i / b, right = i % b;

        for (int round = 0; round < ROUNDS; round += 2) {
            left = (left + below(seed, stream, round, right, a)) % a;
            right = (right + below(seed, stream, round + 1, left, b)) % b;
        }
        i = left * b + right;
    } while (i >= n);
    return i;
}
