#ifndef MTLM_GRAPH_COST_H
#define MTLM_GRAPH_COST_H

/* Modelled durations of nodes, for synthetic runs and evaluations.
 *
 *   our computation     launch + max(products, bytes / bandwidth); without
 *                       multiprocessors in the description, products are FLOPs
 *                       / (efficiency * peak).  gemm_cost.h, memory_cost.h;
 *                       attention that writes its scores: score_cost.h
 *   published kernels   launches + products + bytes / bandwidth.  profile.h
 *   messages            message_cost.h
 *   loads and stores    bytes / rate of the disk, for all ranks of the stage
 *                       that share a host: each moves as much
 *
 * Our computation shares the device with tensor-parallel messages: the
 * computation of a pass takes longer by overlap_tax times their duration.
 * Published code takes the host's time for its kernels if that is longer.
 *
 * If the times of a stage are given (timed), a node's share of its stage's
 * FLOPs is its share of the stage's time. */

#include "graph/build/program.h"
#include "graph/predict/cluster.h"
#include "graph/predict/message_cost.h"

/* The costs of the nodes of one program. */
struct mtlm_cost {
    const struct mtlm_cluster *cluster; /* borrowed */
    const struct mtlm_program *program; /* borrowed */
    double s_per_flop[3];               /* F, B, W of a timed cluster */
    bool forward[MTLM_OP_COUNT];        /* operations of F; in B: recomputed */
    struct mtlm_message_group group[MTLM_GROUP_COUNT]; /* of this rank */
    double slowdown[2]; /* on computation: F; B and W */
};

/* Returns the costs of the nodes of program; borrows cluster and program. */
struct mtlm_cost mtlm_cost_create(const struct mtlm_cluster *cluster,
                                  const struct mtlm_program *program);

/* Returns the seconds of a node; 0 for host nodes and initial values. */
double mtlm_cost_seconds(const struct mtlm_cost *cost,
                         const struct mtlm_node *node);

/* Returns the FLOPs of the matrix products of an iteration of the program, with
 * those that are recomputed.  Attention counts in full, as in model FLOPs. */
double mtlm_cost_product_flops(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_COST_H */
