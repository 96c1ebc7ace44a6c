#ifndef MTLM_TESTS_PLANTED_H
#define MTLM_TESTS_PLANTED_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What test_emulator.c runs, in planted.cu. */

enum { PLANTED_THREADS = 96 };

/* to = from, each block's part from the last to the first; the barrier that
 * this takes is there only if wait. */
void planted_reverse(const int *from, int *to, int blocks, bool wait);

/* The sum of the warp's numbers in every thread, and the odd ones. */
void planted_warp_sum(const int *from, int *sum, unsigned *odd, int threads);

/* A barrier that some threads do not reach, and two for one. */
void planted_some_wait(int *to);
void planted_two_barriers(int *to);

/* to [blocks * threads] = number of the thread. */
void planted_count(int *to, int blocks, int threads);

/* *to = what 16 bytes of shared memory hold at element at. */
void planted_shared(int *to, int at);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_TESTS_PLANTED_H */
