#ifndef MTLM_GRAPH_SYNTHETIC_H
#define MTLM_GRAPH_SYNTHETIC_H

/* Synthetic runs: tasks sleep for modelled durations. */

#include "graph/predict/cost.h"
#include "graph/predict/noise.h"

/* A synthetic run computes nothing: tasks sleep for the time that they would
 * take on a described machine, and messages take their modelled time.  The rest
 * is real: graph, rings, priorities, policy, order of collectives, MPI.  Nodes
 * that use only global tensors (status, control, reports) are computed.
 * Reports and signals thus work as in any run. */
struct mtlm_synthetic {
    struct mtlm_cost cost;
    struct mtlm_noise noise; /* of computations */
    double speed; /* of this rank's computation, relative to the others */
    /* Factor on all durations.  A large factor makes the runtime's overhead
     * relatively small. */
    double stretch;
    uint64_t seed;
    int rank;
};

/* Returns whether the node is computed. */
bool mtlm_synthetic_computes(const struct mtlm_node *node);

/* Returns the duration in ns of an item of the program's lists in that
 * iteration.  All items of a pass have the factor of the pass
 * (graph/predict/noise.h).  Noise and speed change computations only, not
 * messages.  A receive takes 0 ns; the send has the duration. */
int64_t mtlm_synthetic_ns(const struct mtlm_synthetic *synthetic,
                          const struct mtlm_item *item, int64_t iteration);

/* Returns whether a slot of the tensor has one element only: true for every
 * tensor but the global ones. */
bool mtlm_synthetic_pretends(const struct mtlm_tensor *tensor);

/* Returns the bytes of such a slot: a double for each rank of the larger of the
 * tensor- and data-parallel groups. */
size_t mtlm_synthetic_bytes(const struct mtlm_layout *layout);

/* Returns the elements of a synthetic message: 1; of a reduce-scatter, one for
 * each rank of the group. */
int64_t mtlm_synthetic_count(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_SYNTHETIC_H */
