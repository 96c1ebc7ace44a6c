#ifndef MTLM_GRAPH_MESSAGE_COST_H
#define MTLM_GRAPH_MESSAGE_COST_H

/* Durations of messages.  Messages of N bytes among n ranks; a is the latency
 * of a step in seconds, b the bytes per second in each direction of a rank's
 * link:
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
 * operations in MPICH", 2005.)
 *
 * Rates between hosts are shares of one rank, while all ranks of the host send.
 * Point-to-point messages and collectives have rates of their own, for the
 * published rates differ (arXiv 2104.04473, section 5.9). */

#include "graph/layout.h"
#include "graph/predict/cluster.h"

/* The ranks of a group, and the hosts that hold them. */
struct mtlm_message_group {
    int ranks, hosts;
    int per_host; /* such groups that a host holds a rank of */
};

/* Returns the group of that kind to which the layout's rank belongs; no ranks
 * if the rank belongs to none.  As many hosts as ranks if hosts hold unequal
 * numbers of them. */
struct mtlm_message_group mtlm_message_cost_group(
    const struct mtlm_cluster *cluster, const struct mtlm_layout *layout,
    enum mtlm_group group);

/* Returns whether all tensor-parallel groups of the layout lie alike on hosts:
 * one stands for all. */
bool mtlm_message_cost_is_alike(const struct mtlm_cluster *cluster,
                                const struct mtlm_layout *layout);

/* Returns the seconds of an all-reduce of a vector of `bytes` bytes.  Hosts
 * hold equal numbers of the ranks; otherwise, each rank counts as on a host of
 * its own. */
double mtlm_message_cost_all_reduce(const struct mtlm_cluster *cluster,
                                    const struct mtlm_message_group *group,
                                    double bytes);

/* Returns the seconds of a reduce-scatter or an all-gather of a full vector of
 * `bytes` bytes; hosts as in mtlm_message_cost_all_reduce(). */
double mtlm_message_cost_gather(const struct mtlm_cluster *cluster,
                                const struct mtlm_message_group *group,
                                double bytes);

/* Returns the seconds of a message between two ranks. */
double mtlm_message_cost_send(const struct mtlm_cluster *cluster, int from,
                              int to, double bytes);

#endif /* MTLM_GRAPH_MESSAGE_COST_H */
