#ifndef MTLM_TRACED_ITERATION_H
#define MTLM_TRACED_ITERATION_H

/* Bubble and overlap of an iteration for its log line, while training runs. */

#include "launch/trace/usage.h"
#include "runtime/comm/ranks.h"
#include "runtime/machine/recorder.h"

/* One rank and its recorder.  Pointers are borrowed. */
struct mtlm_traced_rank {
    struct mtlm_ranks *ranks;
    struct mtlm_recorder *recorder; /* not shifted yet */
    int64_t clock_offset_ns;        /* to rank 0's clock */
    int workers;
    bool alone; /* nothing was submitted after the iteration */
};

/* Returns the usage of all ranks in the window of iteration e; all zero: the
 * window does not count.  nodes: nodes of the iteration that the recorder
 * receives.  Collective for the main threads; engines may run, and their
 * messages are unaffected.  Waits for the nodes.  Then waits at most a tenth of
 * the iteration for later nodes that ran at the iteration's end. */
struct mtlm_trace_usage mtlm_traced_iteration(
    const struct mtlm_traced_rank *rank, int64_t e, int64_t nodes);

#endif /* MTLM_TRACED_ITERATION_H */
