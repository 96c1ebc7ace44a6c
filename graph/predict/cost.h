#ifndef MTLM_GRAPH_COST_H
#define MTLM_GRAPH_COST_H

/* Modelled durations of nodes, for synthetic runs and evaluations.
 *
 * Computation: launch + max(flops / (efficiency * peak), bytes / (efficiency *
 * bandwidth)).  Where the times of a stage are given, a node takes its share of
 * them by FLOPs.
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
    double efficiency;        /* 0 .. 1, reached share of the peak */
    double bytes_per_s;       /* of the device's memory */
    double memory_efficiency; /* 0 .. 1 */
    double launch_s;          /* of each node */
    double element_bytes;     /* of a weight or an activation of an fp32 job, in
                                 memory and in messages */
    /* timed: seconds of F, B and W of a microbatch on an even share of the
     * layers, a rank's or, with placement policy, a stage's.  They replace the
     * device; nodes outside the layers take no time. */
    bool timed;
    double forward_s, backward_s, weight_s;
    int64_t devices;                /* ranks of a host; 0: all */
    struct mtlm_link host, network; /* within a host, between two */
};

/* The default machine, to compare layouts and schedules: a worker is a core of
 * an AMD EPYC in single precision (perf/results/ops-*.md).  Ranks of a host
 * exchange through its memory, hosts by 10 Gb/s Ethernet. */
extern const struct mtlm_cluster mtlm_cluster_usual;

/* The costs of the nodes of one program. */
struct mtlm_cost {
    const struct mtlm_cluster *cluster; /* borrowed */
    const struct mtlm_program *program; /* borrowed */
    double s_per_flop[3];               /* F, B, W of a timed cluster */
    bool forward[MTLM_OP_COUNT];        /* operations of F; in B: recomputed */
};

struct mtlm_cost mtlm_cost_create(const struct mtlm_cluster *cluster,
                                  const struct mtlm_program *program);

/* Returns seconds; 0 for a node of the host. */
double mtlm_cost_seconds(const struct mtlm_cost *cost,
                         const struct mtlm_node *node);

/* Return the seconds of an all-reduce, and of a reduce-scatter or all-gather,
 * of a full vector of `bytes` among ranks that hosts hold in equal shares. */
double mtlm_cost_all_reduce(const struct mtlm_cluster *cluster, int ranks,
                            int hosts, double bytes);
double mtlm_cost_gather(const struct mtlm_cluster *cluster, int ranks,
                        int hosts, double bytes);

#endif /* MTLM_GRAPH_COST_H */
