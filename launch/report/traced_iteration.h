#ifndef MTLM_TRACED_ITERATION_H
#define MTLM_TRACED_ITERATION_H

#include "runtime/comm/ranks.h"
#include "runtime/machine/recorder.h"

/* How busy all ranks were, over windows (launch/trace/summary.h). */
struct mtlm_traced {
    double busy_ns, room_ns; /* of workers */
    double comm_ns, overlap_ns;
};

/* Fractions; -1 where there is none. */
double mtlm_traced_bubble(const struct mtlm_traced *traced);
double mtlm_traced_overlap(const struct mtlm_traced *traced);
void mtlm_traced_add(struct mtlm_traced *sum, const struct mtlm_traced *more);

/* What one rank records. */
struct mtlm_traced_rank {
    struct mtlm_ranks *ranks;       /* borrowed, as is the recorder */
    struct mtlm_recorder *recorder; /* not shifted yet */
    int64_t clock_offset_ns;        /* what will be added to its times */
    int workers;
    bool alone; /* nothing was submitted after the iteration */
};

/* Iteration e has ended or is about to, and the recorder gets so many nodes of
 * it: waits for them and, a little, for what was running then, which counts as
 * well.  All main threads call it, while the engines run, whose messages it
 * leaves alone.  All zero where the window of e does not count. */
struct mtlm_traced mtlm_traced_iteration(const struct mtlm_traced_rank *rank,
                                         int64_t e, int64_t nodes);

#endif /* MTLM_TRACED_ITERATION_H */
