#ifndef MTLM_TESTS_EMULATOR_H
#define MTLM_TESTS_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vector_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs CUDA kernels on the processor, so that they can be tested without a
 * GPU: g++ compiles the .cu files as they are, with language.h in front, and
 * this file runs them.  It shows whether a kernel computes what it should; of
 * speed it shows nothing.
 *
 * Blocks run one after another, the threads of a block one at a time, each
 * until it has to wait for the others: in __syncthreads() or in an exchange
 * within its warp.  What a GPU would punish now and then ends the program at
 * once, with a line that says where: a barrier that some threads of a block do
 * not reach or two that are mixed up, an exchange that lanes of its mask do not
 * take part in, a value taken from a lane that gives none, a launch that no GPU
 * takes.  A missing barrier shows as a difference between the two orders of
 * mtlm_emulator_backwards; what is read or written outside of an operand hits
 * the guards of guarded.h.
 *
 * To run the kernels of a further .cu here: its name in emulated_cuda, in
 * codelets/include.am, and calls of its operations in tests/codelets/. */

/* Whether threads and blocks run from the last to the first. */
extern bool mtlm_emulator_backwards;

/* Before a kernel is run that was enqueued on stream: the device double, where
 * the program runs with one, does what is still to be done there. */
void mtlm_emulator_stream(void *stream);

/* For language.h.  Those of the thread that runs now: */
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

/* Calls thread(arg) for every thread of every block.  Safe in several threads
 * of the host at once. */
void mtlm_emulator_run(uint3 blocks, uint3 threads, size_t shared_bytes,
                       void (*thread)(void *arg), void *arg);

/* The block's dynamic shared memory, aligned to 16 bytes; filled with ones
 * (not a number) at the start of a block, and guarded at its end. */
void *mtlm_emulator_shared(void);

/* __syncthreads() at file:line. */
void mtlm_emulator_barrier(const char *file, int line);

enum mtlm_warp_operation { MTLM_WARP_SYNC, MTLM_WARP_SHUFFLE, MTLM_WARP_VOTE };

/* What the lanes of mask do together at file:line.  SHUFFLE: returns the value
 * of lane from.  VOTE: the lanes whose value is not 0. */
uint64_t mtlm_emulator_warp(enum mtlm_warp_operation operation, unsigned mask,
                            uint64_t value, unsigned from, const char *file,
                            int line);

/* Lane of the thread that runs now, and the lanes of its warp that exist. */
unsigned mtlm_emulator_lane(void);
unsigned mtlm_emulator_lanes(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_TESTS_EMULATOR_H */
