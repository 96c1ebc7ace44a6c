#ifndef MTLM_GRAPH_PLAN_H
#define MTLM_GRAPH_PLAN_H

/* The plan of a rank: what its program will take, known before anything
 * starts. */

#include "graph/build/program.h"

/* Traffic that a rank sends in an iteration.  An all-reduce of n bytes among k
 * ranks counts 2 n (k - 1) / k, as a ring sends (arXiv 2104.04473 counts so
 * too); a reduce-scatter or an all-gather to n bytes counts half of that. */
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

/* Bytes, unless a field says otherwise. */
struct mtlm_plan {
    int stage;                   /* of its first chunk */
    int64_t first_layer, layers; /* of all its chunks */
    double parameters;           /* number, without second copies */
    double weight_bytes, gradient_bytes;
    double moment_bytes;     /* with masters */
    double activation_bytes; /* all slots of all rings */
    double saved_bytes;      /* copies for a checkpoint (graph/build/save.h) */
    /* process_bytes: resident before the graph is built.  runtime_bytes: these,
     * graph, handles, tasks, scratch of kernels and messages. */
    double process_bytes, runtime_bytes;
    double total_bytes;
    /* Host memory of a rank with a GPU, not in the total: copies of messages,
     * tensors of the host, and copies of what a checkpoint gave.  nccl: the
     * same where collectives stay between GPUs. */
    double staged_bytes, staged_nccl_bytes;
    /* Host memory of a rank with a GPU that reading a checkpoint takes beyond
     * runtime_bytes.  Not in the total.  Computed, never measured on a GPU. */
    double gpu_load_bytes;
    /* Workspace of cuDNN's attention on a GPU.  Not in the total. */
    double attention_bytes;
    /* Part of runtime_bytes: scratch of CPU kernels; a GPU holds its own. */
    double cpu_kernel_bytes;
    /* Numbers per iteration, messages included; with config.eval_only, per
     * batch of a validation, also in the fields that follow. */
    int64_t tasks;
    double flops; /* of this rank per iteration */
    double again; /* part of flops that recomputation adds */
    struct mtlm_traffic traffic[MTLM_TRAFFIC_COUNT];
    struct mtlm_window window; /* of its first chunk */
    /* Elements of the largest tensor and of the longest message. */
    int64_t largest, longest;
    char largest_name[64];
    const char *longest_name;
};

/* Returns the plan of a program, which may be an outline.  process_bytes:
 * mtlm_memory_resident() before the graph was built. */
struct mtlm_plan mtlm_plan(const struct mtlm_program *program,
                           double process_bytes);

/* Returns the bytes that the plan takes beyond process_bytes. */
double mtlm_plan_more_bytes(const struct mtlm_plan *plan);

/* Return the same of a rank with a GPU: of the GPU's memory, and of the host's.
 * nccl: NCCL carries the collectives. */
double mtlm_plan_gpu_bytes(const struct mtlm_plan *plan);
double mtlm_plan_beside_gpu_bytes(const struct mtlm_plan *plan, bool nccl);

/* Refuses (MTLM_EXIT_RESOURCE) tensors and messages that StarPU and MPI cannot
 * count. */
int mtlm_plan_check_counts(const struct mtlm_plan *plan,
                           struct mtlm_error *err);

/* Refuses (MTLM_EXIT_RESOURCE, need and have) a machine with too little memory.
 * on_host: bytes that all its ranks need together. */
int mtlm_plan_check(double on_host, double available, struct mtlm_error *err);

/* Returns a lower bound, from the sizes alone, of the bytes that the fullest
 * rank needs; on its GPU, if it has one.  Builds no graph, which may itself be
 * too large. */
double mtlm_plan_lower_bound(const struct mtlm_program_config *config,
                             bool gpu);

#endif /* MTLM_GRAPH_PLAN_H */
