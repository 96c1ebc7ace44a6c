#ifndef MTLM_GRAPH_PLAN_H
#define MTLM_GRAPH_PLAN_H

#include "graph/build/program.h"
#include "graph/schedule/window.h"

/* What a rank sends in an iteration.  Of an all-reduce of n bytes among k
 * ranks: 2 n (k - 1) / k, as a ring does (and as arXiv 2104.04473 counts); half
 * of that of a reduce-scatter, and of an all-gather to n bytes. */
struct mtlm_traffic {
    double bytes;
    int64_t messages; /* sends and collectives */
};

enum mtlm_traffic_kind {
    MTLM_TRAFFIC_TP,        /* collectives of the tensor-parallel group */
    MTLM_TRAFFIC_PP,        /* to the neighbouring stages */
    MTLM_TRAFFIC_DP,        /* gradients and weights of the replicas */
    MTLM_TRAFFIC_EMBEDDING, /* the tied embedding's gradients */
    MTLM_TRAFFIC_OTHER,     /* norm, loss and flags of all ranks */
    MTLM_TRAFFIC_COUNT
};

/* What a program will take, known before anything starts. */
struct mtlm_plan {
    int stage;                   /* the first one */
    int64_t first_layer, layers; /* of its chunks together */
    double parameters;           /* that it steps: no second copies */
    double weight_bytes, gradient_bytes;
    double moment_bytes;     /* and masters' */
    double activation_bytes; /* all slots of all rings */
    double saved_bytes;      /* copies for a checkpoint (graph/build/save.h) */
    /* The process as it is before the graph is built; then that, the graph,
     * handles and tasks, scratch of kernels and messages. */
    double process_bytes, runtime_bytes;
    double total_bytes;
    /* Of a rank with a GPU, in host memory: copies of what messages carry, what
     * the host makes, and copies of what it has read from a checkpoint, which
     * stay.  Not in the total.  And the same where collectives stay between
     * GPUs. */
    double staged_bytes, staged_nccl_bytes;
    /* Of such a rank: what reading a checkpoint takes of the host's memory that
     * is not in runtime_bytes, since no activations follow there.  Not in the
     * total.  Computed: no GPU has read one yet. */
    double gpu_load_bytes;
    /* On a GPU: the workspace of cuDNN's attention.  Not in the total. */
    double attention_bytes;
    /* Of runtime_bytes: what CPU kernels take that a GPU has. */
    double cpu_kernel_bytes;
    /* Per iteration, messages included; with config.eval_only, here and in
     * what follows, per batch of a validation. */
    int64_t tasks;
    double flops; /* of this rank per iteration */
    double again; /* those of them that recomputation adds */
    struct mtlm_traffic traffic[MTLM_TRAFFIC_COUNT];
    struct mtlm_window window; /* of its first chunk */
    /* Elements of the largest tensor and of the longest message. */
    int64_t largest, longest;
    char largest_name[64];
    const char *longest_name;
};

/* process_bytes: mtlm_memory_resident() before the graph was built.  The
 * program may be an outline. */
struct mtlm_plan mtlm_plan(const struct mtlm_program *program,
                           double process_bytes);

/* What the plan takes beyond what the process has already. */
double mtlm_plan_more_bytes(const struct mtlm_plan *plan);

/* The same of a rank with a GPU: of that, and of the host's memory.  nccl: that
 * carries the collectives. */
double mtlm_plan_gpu_bytes(const struct mtlm_plan *plan);
double mtlm_plan_beside_gpu_bytes(const struct mtlm_plan *plan, bool nccl);

/* Refuses (MTLM_EXIT_RESOURCE) tensors and messages larger than StarPU and
 * MPI can count. */
int mtlm_plan_check_counts(const struct mtlm_plan *plan,
                           struct mtlm_error *err);

/* Refuses (MTLM_EXIT_RESOURCE, need and have) what a machine does not have
 * the memory for: on_host bytes are what all its ranks need together. */
int mtlm_plan_check(double on_host, double available, struct mtlm_error *err);

/* Bytes that the fullest rank needs at least, on its GPU if it has one, from
 * the sizes alone: tells what cannot be without building a graph that may
 * itself be too large. */
double mtlm_plan_lower_bound(const struct mtlm_program_config *config,
                             bool gpu);

#endif /* MTLM_GRAPH_PLAN_H */
