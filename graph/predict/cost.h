#ifndef MTLM_GRAPH_COST_H
#define MTLM_GRAPH_COST_H

#include "graph/build/program.h"

/* How long a node would take on a machine that need not exist: a model of
 * durations, for runs whose kernels sleep (--synthetic) and for evaluations.
 *
 * Computation: launch + max(flops / (efficiency * peak), bytes / (efficiency *
 * bandwidth)), or, where the times of a stage are given instead, that time
 * shared out by FLOPs.  Messages of N bytes among n ranks, a seconds of
 * latency a step, b bytes per second in each direction of a rank's link:
 *
 *   send              a + N / b
 *   all-reduce        the smaller of
 *                     2 (n - 1) a + 2 (n - 1) / n N / b (ring) and
 *                     2 ceil(log2 n) a + 2 N / b (tree, pipelined)
 *   reduce-scatter,
 *   all-gather        (n - 1) a + (n - 1) / n N / b
 *
 * A group of g hosts with k of its ranks on each does it in two levels: among
 * the k a reduce-scatter, among the g the rest on N / k bytes, among the k an
 * all-gather.  (Costs of collectives: Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH", 2005.) */

struct mtlm_link {
    double latency_s;
    double bytes_per_s; /* 0: any number */
};

/* The machine of one rank, and what joins the ranks. */
struct mtlm_cluster {
    double flops_per_s;       /* peak */
    double efficiency;        /* 0 .. 1, share of the peak that is reached */
    double bytes_per_s;       /* of the device's memory */
    double memory_efficiency; /* 0 .. 1 */
    double launch_s;          /* of each node */
    double element_bytes;     /* of a weight or an activation, in memory and on
                                 the way, of a job in fp32; others have the
                                 sizes that they have */
    /* Seconds in which a rank's stage - its share of the layers, if they were
     * shared out evenly; with placement policy a stage's - passes one
     * microbatch forward, makes its input gradients and its weight gradients.
     * Instead of the device: what is outside the layers then takes no time. */
    bool timed;
    double forward_s, backward_s, weight_s;
    int64_t devices;                /* ranks of a host; 0: all */
    struct mtlm_link host, network; /* within a host, between two */
};

/* What is assumed where nothing is described, to compare ways of working, not
 * to tell how long they take: a worker is a core of an AMD EPYC in single
 * precision (perf/results/ops-*.md); ranks of a host exchange through its
 * memory, where a message is a copy or two, hosts by 10 Gb/s Ethernet. */
extern const struct mtlm_cluster mtlm_cluster_usual;

/* What the nodes of one program cost. */
struct mtlm_cost {
    const struct mtlm_cluster *cluster; /* borrowed */
    const struct mtlm_program *program; /* borrowed */
    double s_per_flop[3];               /* F, B, W of a timed cluster */
    bool forward[MTLM_OP_COUNT];        /* operations of F: F's, if in B */
};

struct mtlm_cost mtlm_cost_create(const struct mtlm_cluster *cluster,
                                  const struct mtlm_program *program);

/* Seconds; 0 for what the host does. */
double mtlm_cost_seconds(const struct mtlm_cost *cost,
                         const struct mtlm_node *node);

/* The parts of it, for tests and for messages that are no node: an all-reduce,
 * and a reduce-scatter or all-gather, of bytes (the full vector's) among ranks
 * that stand on hosts of equal shares. */
double mtlm_cost_all_reduce(const struct mtlm_cluster *cluster, int ranks,
                            int hosts, double bytes);
double mtlm_cost_gather(const struct mtlm_cluster *cluster, int ranks,
                        int hosts, double bytes);

#endif /* MTLM_GRAPH_COST_H */
