#ifndef MTLM_GRAPH_SYNTHETIC_H
#define MTLM_GRAPH_SYNTHETIC_H

#include "graph/predict/cost.h"

/* A run in which nothing is computed: tasks sleep for as long as they would
 * take on a machine that is described, and messages take that much longer.
 * Everything else is as it is: graph, rings, priorities, policy, order of
 * collectives, MPI.  Only what reads and writes nothing but the run's global
 * tensors (status, control, reports) is computed, so that a run is steered as
 * any other. */
struct mtlm_synthetic {
    struct mtlm_cost cost;
    double jitter; /* 0 .. 1: each node takes up to that share more or less */
    double speed;  /* of this rank, as a share of the others' */
    /* Times that everything takes longer than on the machine: what the runtime
     * itself takes is then small beside it. */
    double stretch;
    uint64_t seed;
    int rank;
};

/* Whether the node is computed all the same. */
bool mtlm_synthetic_computes(const struct mtlm_node *node);

/* Nanoseconds that the item, of one of the program's lists, takes in that
 * iteration: seed, rank, item and iteration determine the jitter.  Messages
 * have none; a receive takes no time, its send does. */
int64_t mtlm_synthetic_ns(const struct mtlm_synthetic *synthetic,
                          const struct mtlm_item *item, int64_t iteration);

/* Whether only one element of the tensor is there, in that many bytes: what
 * each rank of a group could send another. */
bool mtlm_synthetic_pretends(const struct mtlm_tensor *tensor);
size_t mtlm_synthetic_bytes(const struct mtlm_layout *layout);

/* Elements of a message that pretends: one of each rank of its group. */
int64_t mtlm_synthetic_count(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_SYNTHETIC_H */
