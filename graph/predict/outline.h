#ifndef MTLM_GRAPH_OUTLINE_H
#define MTLM_GRAPH_OUTLINE_H

/* The plans of all ranks of a layout.  One process builds the graph of one rank
 * at a time; no rank has to exist. */

#include "graph/predict/plan.h"

struct mtlm_outline {
    struct mtlm_layout layout;
    struct mtlm_plan *plan; /* [pp] plans of tp_rank 0, the largest of each
                             * tensor-parallel group */
};

/* Returns the plan of pipeline rank `stage`.  process_bytes: resident bytes of
 * the process before the graph is built. */
struct mtlm_plan mtlm_outline_stage(const struct mtlm_program_config *config,
                                    int stage, double process_bytes);

/* Returns the plans of all ranks of config->layout; ignores the layout's
 * coordinates.  process_bytes: resident bytes of each process before its graph
 * is built.  The caller frees the outline with mtlm_outline_destroy(). */
struct mtlm_outline mtlm_outline_create(
    const struct mtlm_program_config *config, double process_bytes);

/* Frees the plans of the outline. */
void mtlm_outline_destroy(struct mtlm_outline *outline);

/* Returns the plan of a rank of the layout; the outline owns it. */
const struct mtlm_plan *mtlm_outline_plan(const struct mtlm_outline *outline,
                                          int rank);

/* Refuses (MTLM_EXIT_RESOURCE) a rank as mtlm_plan_check_counts() does. */
int mtlm_outline_check_counts(const struct mtlm_outline *outline,
                              struct mtlm_error *err);

/* Returns the bytes that a machine must have available.  This is the largest
 * sum over per_host ranks with consecutive numbers, beyond process_bytes. */
double mtlm_outline_host_bytes(const struct mtlm_outline *outline,
                               int per_host);

/* Returns the host memory in bytes that ranks with GPUs take on a machine: the
 * largest sum over per_host ranks with consecutive numbers, beyond
 * process_bytes.  Messages count as if they passed through the host. */
double mtlm_outline_beside_bytes(const struct mtlm_outline *outline,
                                 int per_host);

/* Returns the GPU memory in bytes of the rank that needs most. */
double mtlm_outline_gpu_bytes(const struct mtlm_outline *outline);

#endif /* MTLM_GRAPH_OUTLINE_H */
