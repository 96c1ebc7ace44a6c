#ifndef MTLM_PERF_OP_BENCH_H
#define MTLM_PERF_OP_BENCH_H

#include "codelets/op.h"

/* Times CPU kernels against what the machine can do: products against a plain
 * sgemm, all else against memory and against the numbers that it computes. */

/* What a thread reaches while threads - 1 others do the same. */
struct bench_rates {
    int threads;
    double gflops;    /* of a plain sgemm of a given size */
    double copy_gbs;  /* y = x, counting both */
    double triad_gbs; /* z = x + a y, counting all three */
    /* What really moves: a line that is written is read before.  The best of
     * copy, triad and x += y. */
    double traffic_gbs;
    /* Of a sum.  Reads alone are slower than reads and writes together: a core
     * has only so many lines on their way to it. */
    double read_gbs;
    /* Of numbers that the nearest cache holds, in G/s. */
    double exponentials; /* sum e^(x - max) */
    double random;       /* factors of dropout */
};

/* Rates with arrays that no cache holds and a product [m, k] [n, k]^T. */
struct bench_rates bench_rates(int threads, int64_t m, int64_t n, int64_t k);

struct bench {
    const char *note; /* what the name of the operation does not say */
    struct mtlm_call call;
    /* Integers are drawn from 0 .. below - 1, or are all equal_to. */
    int32_t below, equal_to;
    /* Instead of the table's, where they are not 0: floating-point operations
     * of products that are really made (-1: none count), and bytes moved. */
    double flops, bytes;
    bool reads; /* the call writes next to nothing of these bytes */
};

/* Prints the head of a table and a row of it: time of a call on operands that
 * are not in any cache, GF/s, GB/s moved, and the floor's share of the time.
 * rates->threads - 1 others make such a call meanwhile.  The floor is the
 * longest of four times: bytes at traffic_gbs, or at read_gbs if next to
 * nothing is written; flops at gflops; exponentials of cross-entropy; random
 * numbers of dropout.  What a cache still has makes shares above 100 %. */
void bench_head(void);
void bench_row(const struct bench *bench, const struct bench_rates *rates);

#endif /* MTLM_PERF_OP_BENCH_H */
