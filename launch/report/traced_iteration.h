#ifndef MTLM_TRACED_ITERATION_H
#define MTLM_TRACED_ITERATION_H

/* Bubble and overlap of an iteration for its log line, while training runs. */

#include "launch/trace/usage.h"
#include "runtime/comm/ranks.h"
#include "runtime/machine/recorder.h"

/* What one rank records.  Pointers are borrowed. */
struct mtlm_traced_rank {
    struct mtlm_ranks *ranks;
    struct mtlm_recorder *recorder; /* not shifted yet */
    int64_t clock_offset_ns;        /* to rank 0's clock */
    int workers;
    bool alone; /* nothing was submitted after the iteration */
};

/* Returns the usage of all ranks in the window of iteration e, of which the
 * recorder receives `nodes` nodes.  All zero: the window does not count.
 * Collective for the main threads, while the engines run; leaves the engines'
 * messages alone.  Waits for the nodes, and up to a tenth of the iteration for
 * nodes of later iterations that ran at its end. */
struct mtlm_trace_usage mtlm_traced_iteration(
    const struct mtlm_traced_rank *rank, int64_t e, int64_t nodes);

#endif /* MTLM_TRACED_ITERATION_H */
