#ifndef MTLM_TESTS_MPI_SUPPORT_H
#define MTLM_TESTS_MPI_SUPPORT_H

#include <stdbool.h>
#include <starpu.h>

#include "runtime/comm/message.h"

/* What the programs for several ranks have in common. */

/* Starts MPI, groups of tp tensor-parallel ranks with the embedding and the
 * data-parallel groups across them, and StarPU.  The job is ended, with what
 * engine waits for, when it takes longer than seconds: it hangs. */
void setup(int *argc, char ***argv, int tp, int workers, int seconds);

extern struct mtlm_ranks *ranks;
extern int rank, size;

/* MTLM_TEST_TRANSPORT=nccl asks for NCCL; MTLM_TEST_GPU=0 gives StarPU that
 * GPU: kernels run on CPUs, but messages that the transport takes from a GPU
 * get their data there. */
extern enum mtlm_transport_kind transport;

/* Of a number of repetitions as many as there is time for: with a GPU few,
 * since StarPU's thread for it does not sleep. */
int times(int n);

/* The engine that the watchdog describes. */
struct mtlm_engine *start_engine(enum mtlm_collective_order order,
                                 int max_in_flight,
                                 struct mtlm_recorder *recorder);
void stop_engine(void);
extern struct mtlm_engine *engine;

/* Counts what is not so, from any thread; says the first ones. */
void expect(bool so, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Stops all; the exit code that follows from what all ranks expected. */
int finish(void);

/* Posts a message of one double between ranks 0 and 1. */
void post_number(enum mtlm_message_kind kind, starpu_data_handle_t handle);

/* Waits until all that was submitted for the data is done. */
void settle(starpu_data_handle_t handle);

#endif /* MTLM_TESTS_MPI_SUPPORT_H */
