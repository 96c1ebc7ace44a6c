#ifndef MTLM_GRAPH_COST_H
#define MTLM_GRAPH_COST_H

/* Modelled durations of nodes, for synthetic runs and evaluations.
 *
 * Computation: launch + max(flops / (efficiency * peak), bytes / (efficiency *
 * bandwidth)).  If the times of a stage are given (timed), a node's share of
 * its stage's FLOPs is its share of the stage's time.
 *
 * Messages of N bytes among n ranks; a is the latency of a step in seconds, b
 * the bytes per second in each direction of a rank's link:
 *
 *   send              a + N / b
 *   all-reduce        the smaller of
 *                     2 (n - 1) a + 2 (n - 1) / n N / b (ring) and
 *                     2 ceil(log2 n) a + 2 N / b (tree, pipelined)
 *   reduce-scatter,
 *   all-gather        (n - 1) a + (n - 1) / n N / b
 *
 * An all-reduce on g hosts with k ranks each has two levels: a reduce-scatter
 * among k, an all-reduce of N / k bytes among g, an all-gather among k. (Costs:
 * Thakur, Rabenseifner, Gropp, "Optimization of collective communication
 * operations in MPICH", 2005.) */

#include "graph/build/program.h"

struct mtlm_link {
    double latency_s;
    double bytes_per_s; /* 0: unlimited */
};

/* The machine of one rank, and the links between ranks. */
struct mtlm_cluster {
    double flops_per_s;       /* peak */
    double efficiency;        /* 0 .. 1: share of the peak that kernels reach */
    double bytes_per_s;       /* bandwidth of the device's memory */
    double memory_efficiency; /* 0 .. 1 */
    double launch_s;          /* of each node */
    double element_bytes;     /* bytes of a weight or activation of an fp32 job,
                               * in memory and in messages */
    /* timed: forward_s, backward_s and weight_s replace the device model; nodes
     * outside the layers take 0 s.  The seconds of F, B and W count for a
     * microbatch on 1 / p of the layers, p pipeline stages. */
    bool timed;
    double forward_s, backward_s, weight_s;
    int64_t devices;                /* ranks per host; 0: all ranks share a
                                     * host */
    struct mtlm_link host, network; /* within a host, between hosts */
};

/* The default machine, to compare layouts and schedules.  A worker is an AMD
 * EPYC core in single precision (perf/results/ops-*.md).  Ranks of a host
 * communicate through host memory, hosts through 10 Gb/s Ethernet. */
extern const struct mtlm_cluster mtlm_cluster_usual;

/* The costs of the nodes of one program. */
struct mtlm_cost {
    const struct mtlm_cluster *cluster; /* borrowed */
    const struct mtlm_program *program; /* borrowed */
    double s_per_flop[3];               /* F, B, W of a timed cluster */
    bool forward[MTLM_OP_COUNT];        /* operations of F; in B: recomputed */
};

/* Returns the costs of the nodes of program; borrows cluster and program. */
struct mtlm_cost mtlm_cost_create(const struct mtlm_cluster *cluster,
                                  const struct mtlm_program *program);

/* Returns the seconds of a node; 0 for host nodes and initial values. */
double mtlm_cost_seconds(const struct mtlm_cost *cost,
                         const struct mtlm_node *node);

/* Returns the seconds of an all-reduce of a vector of `bytes` bytes.  Hosts
 * hold equal numbers of the ranks; otherwise, each rank counts as on a host of
 * its own. */
double mtlm_cost_all_reduce(const struct mtlm_cluster *cluster, int ranks,
                            int hosts, double bytes);

/* Returns the seconds of a reduce-scatter or an all-gather of a full vector of
 * `bytes` bytes; hosts as in mtlm_cost_all_reduce(). */
double mtlm_cost_gather(const struct mtlm_cluster *cluster, int ranks,
                        int hosts, double bytes);

#endif /* MTLM_GRAPH_COST_H */
