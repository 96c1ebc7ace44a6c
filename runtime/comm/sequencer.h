#ifndef MTLM_SEQUENCER_H
#define MTLM_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/comm/engine.h"
#include "runtime/comm/numbers.h"
#include "runtime/comm/transfer.h"

/* The sequencer decides which collective a rank issues next;
 * runtime/comm/engine.h says why that cannot deadlock.  No threads, no MPI. */
struct mtlm_sequencer {
    enum mtlm_collective_order order;
    bool leader;             /* of its tensor-parallel group */
    struct mtlm_queue ready; /* collectives with data, not issued */
    /* Of the leader.  cross: posted collectives across groups that are not
     * issued, in program order.  before: for each of them, how many of the own
     * group's collectives, posted since the previous one, are not issued.
     * after: how many posted after the last one are not issued. */
    struct mtlm_numbers cross, before;
    int64_t after;
    /* Numbers to issue, in order: of a follower the leader's tickets, of a plan
     * all posted collectives. */
    struct mtlm_numbers tickets;
    int64_t planned; /* the plan holds all numbers below */
};

/* Creates a sequencer without collectives; the caller destroys it. */
void mtlm_sequencer_create(struct mtlm_sequencer *sequencer,
                           enum mtlm_collective_order order, bool leader);
void mtlm_sequencer_destroy(struct mtlm_sequencer *sequencer);

/* Plans the next n collectives.  first: the number of the next collective to be
 * posted.  order [n]: the k-th to be issued is number first + order[k]. */
void mtlm_sequencer_plan(struct mtlm_sequencer *sequencer, int64_t first,
                         const int *order, int n);

/* A collective of a group is posted; numbers count from 0. */
void mtlm_sequencer_post(struct mtlm_sequencer *sequencer, int64_t number,
                         enum mtlm_group group);

/* Removes from ready, and returns, the collective to issue next; NULL: none
 * yet. */
struct mtlm_transfer *mtlm_sequencer_next(struct mtlm_sequencer *sequencer);

/* Returns the number of the collective that holds up others: of a leader the
 * next one across groups, else the next one in the order; -1: none. */
int64_t mtlm_sequencer_awaited(const struct mtlm_sequencer *sequencer);

#endif /* MTLM_SEQUENCER_H */
