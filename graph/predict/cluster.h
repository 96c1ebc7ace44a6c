#ifndef MTLM_GRAPH_CLUSTER_H
#define MTLM_GRAPH_CLUSTER_H

/* The description of a machine, from which the costs of nodes follow
 * (graph/predict/cost.h).  launch/plan/cluster.h reads one from a file. */

#include <stdbool.h>
#include <stdint.h>

struct mtlm_profile;

struct mtlm_link {
    double latency_s;
    double bytes_per_s; /* 0: unlimited */
    bool given;         /* described; else messages take no time */
};

/* The disk of a host, which the host's ranks share. */
struct mtlm_disk {
    double read_bytes_per_s, written_bytes_per_s; /* 0: unlimited */
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
    /* Matrix products by shape (graph/predict/gemm_cost.h).  processors:
     * multiprocessors of the device; 0: shapes do not matter. */
    int64_t processors;
    double product_fill;
    /* Host time of a kernel of published code (graph/predict/profile.h); 0: the
     * host is fast enough. */
    double host_s;
    /* timed: forward_s, backward_s and weight_s replace the device model; nodes
     * outside the layers take 0 s.  The seconds of F, B and W count for a
     * microbatch on 1 / p of the layers, p pipeline stages. */
    bool timed;
    double forward_s, backward_s, weight_s;
    double memory_bytes;            /* memory of a device; 0: unknown */
    double host_memory_bytes;       /* memory of a host; 0: unknown */
    int64_t devices;                /* ranks per host; 0: all ranks share a
                                     * host */
    int64_t hosts;                  /* 0: unknown */
    struct mtlm_link host, network; /* within a host, between hosts */
    struct mtlm_disk disk;          /* of offloaded state */
    /* Rate of a rank in collectives between hosts; 0: network.bytes_per_s. */
    double collective_bytes_per_s;
    /* Share of that rate in a group with several ranks on each host, of several
     * such groups; 0: 1. */
    double shared_rate;
    /* Time that computation loses beside a collective, as a share of the
     * collective's time. */
    double overlap_tax;
    const struct mtlm_profile *profile; /* whose kernels run; NULL: our own */
    /* With a profile: our order replaces its chain of computation and messages,
     * and messages pass beside computation. */
    bool overlaps;
};

/* The default machine, to compare layouts and schedules.  A worker is an AMD
 * EPYC core in single precision (perf/results/ops-*.md).  Ranks of a host
 * communicate through host memory, hosts through 10 Gb/s Ethernet. */
extern const struct mtlm_cluster mtlm_cluster_usual;

#endif /* MTLM_GRAPH_CLUSTER_H */
