#ifndef MTLM_GRAPH_SYNTHETIC_H
#define MTLM_GRAPH_SYNTHETIC_H

/* Synthetic runs: tasks sleep for modelled durations. */

#include "graph/predict/cost.h"

/* A synthetic run computes nothing: tasks sleep for the time that they would
 * take on a described machine, and messages take their modelled time.  The rest
 * is real: graph, rings, priorities, policy, order of collectives, MPI.  Nodes
 * that use only global tensors (status, control, reports) are computed, so the
 * run is steered like any other. */
struct mtlm_synthetic {
    struct mtlm_cost cost;
    double jitter; /* 0 .. 1: relative change of each node's duration */
    double speed;  /* speed of this rank relative to the others */
    /* Factor on all durations, which makes the runtime's own time relatively
     * small. */
    double stretch;
    uint64_t seed;
    int rank;
};

/* Returns whether the node is computed. */
bool mtlm_synthetic_computes(const struct mtlm_node *node);

/* Returns the duration in ns of an item of the program's lists in that
 * iteration.  Seed, rank, item and iteration determine the jitter.  Messages
 * have no jitter.  A receive takes 0 ns; the send has the duration. */
int64_t mtlm_synthetic_ns(const struct mtlm_synthetic *synthetic,
                          const struct mtlm_item *item, int64_t iteration);

/* Returns whether only one element of the tensor exists. */
bool mtlm_synthetic_pretends(const struct mtlm_tensor *tensor);

/* Returns the bytes of such an element: room for what each rank of a group may
 * send. */
size_t mtlm_synthetic_bytes(const struct mtlm_layout *layout);

/* Returns the elements of a synthetic message: one of each rank of its
 * group. */
int64_t mtlm_synthetic_count(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_SYNTHETIC_H */
