#ifndef MTLM_GRAPH_PLAN_H
#define MTLM_GRAPH_PLAN_H

/* The plan of a rank: memory, work and traffic of its program, known before
 * anything starts. */

#include "graph/build/program.h"

/* Traffic that a rank sends in an iteration.  An all-reduce of n bytes among k
 * ranks counts 2 n (k - 1) / k bytes, like a ring (and arXiv 2104.04473).  A
 * reduce-scatter, or an all-gather, of a full vector of n bytes counts half as
 * much. */
struct mtlm_traffic {
    double bytes;
    int64_t messages; /* sends and collectives */
};

enum mtlm_traffic_kind {
    MTLM_TRAFFIC_TP,        /* collectives of a layer's tensor-parallel group */
    MTLM_TRAFFIC_PP,        /* to the neighbouring stages */
    MTLM_TRAFFIC_DP,        /* gradients and weights of the replicas */
    MTLM_TRAFFIC_EMBEDDING, /* the tied embedding's gradients */
    MTLM_TRAFFIC_OTHER,     /* norm, loss and flags of all ranks */
    MTLM_TRAFFIC_COUNT
};

/* Bytes, unless a field says otherwise. */
struct mtlm_plan {
    int stage;                   /* of its first chunk */
    int64_t first_layer, layers; /* of all chunks of the rank */
    double parameters;           /* number of elements, without second copies */
    double weight_bytes, gradient_bytes;
    double moment_bytes;     /* with masters; of offloaded ones, the slots */
    double activation_bytes; /* all slots of all rings */
    double saved_bytes;      /* copies for a checkpoint (graph/build/save.h) */
    /* process_bytes: resident before the graph is built.  runtime_bytes:
     * process_bytes, graph, handles, tasks, scratch of kernels and messages. */
    double process_bytes, runtime_bytes;
    double total_bytes;
    /* Host memory of a rank with a GPU: copies of messages, of host nodes'
     * tensors, and of tensors loaded from a checkpoint.  nccl: if NCCL carries
     * the collectives.  Not in the total. */
    double staged_bytes, staged_nccl_bytes;
    /* Host memory, beyond runtime_bytes, that a rank with a GPU needs to read a
     * checkpoint.  Not in the total.  Computed, never measured on a GPU. */
    double gpu_load_bytes;
    /* Workspace of cuDNN's attention on a GPU.  Not in the total. */
    double attention_bytes;
    /* Part of runtime_bytes: scratch of CPU kernels; a GPU holds its own. */
    double cpu_kernel_bytes;
    /* tasks: tasks and messages.  From here to traffic: per iteration; with
     * config.eval_only, per batch of a validation. */
    int64_t tasks;
    double flops; /* of this rank */
    double recompute_flops; /* part of flops that recomputation adds */
    struct mtlm_traffic traffic[MTLM_TRAFFIC_COUNT];
    /* Loaded and stored by --offload, per iteration; size of the rank's file.
     * With a GPU, host memory takes the place of the file.  All 0 without
     * offloaded state. */
    double loaded_bytes, stored_bytes, file_bytes;
    struct mtlm_window window; /* of the rank's first chunk */
    /* Elements of the largest tensor and of the longest message; names of both.
     * longest_name: operation, a string constant. */
    int64_t largest, longest;
    char largest_name[64];
    const char *longest_name;
    enum mtlm_traffic_kind longest_kind;
};

/* Returns the plan of a program; config.outline may be set.  process_bytes:
 * mtlm_memory_resident() before the graph was built. */
struct mtlm_plan mtlm_plan(const struct mtlm_program *program,
                           double process_bytes);

/* Returns the bytes that the plan takes beyond process_bytes. */
double mtlm_plan_more_bytes(const struct mtlm_plan *plan);

/* Returns the bytes of GPU memory that a rank with a GPU takes, with cuDNN's
 * workspace. */
double mtlm_plan_gpu_bytes(const struct mtlm_plan *plan);

/* Returns the bytes of host memory that a rank with a GPU takes beyond
 * process_bytes, with its offloaded state and CUDA's libraries.  nccl: NCCL
 * carries the collectives. */
double mtlm_plan_beside_gpu_bytes(const struct mtlm_plan *plan, bool nccl);

/* Refuses (MTLM_EXIT_RESOURCE) a tensor of more than UINT32_MAX elements
 * (StarPU) and a message of more than INT_MAX (MPI). */
int mtlm_plan_check_counts(const struct mtlm_plan *plan,
                           struct mtlm_error *err);

/* Refuses (MTLM_EXIT_RESOURCE) a machine with too little memory.  on_host:
 * bytes that all ranks of the machine need.  available: bytes that the machine
 * has available. */
int mtlm_plan_check(double on_host, double available, struct mtlm_error *err);

/* Returns a lower bound of the bytes that the fullest rank needs; gpu: on its
 * GPU.  The bound comes from the sizes alone: the graph itself may be too large
 * to build. */
double mtlm_plan_lower_bound(const struct mtlm_program_config *config,
                             bool gpu);

#endif /* MTLM_GRAPH_PLAN_H */
