#ifndef MTLM_GRAPH_OUTLINE_H
#define MTLM_GRAPH_OUTLINE_H

/* The plans of all ranks of a layout, from the graph of one rank at a time.  No
 * rank has to exist. */

#include "graph/predict/plan.h"

struct mtlm_outline {
    struct mtlm_layout layout;
    struct mtlm_plan *plan; /* [pp] of the first tensor-parallel rank, whose
                             * plan is the largest */
};

/* Returns the plan of one pipeline rank. */
struct mtlm_plan mtlm_outline_stage(const struct mtlm_program_config *config,
                                    int stage, double process_bytes);

/* Returns the plans of config.layout, whose coordinates are not read.
 * process_bytes: resident bytes of each process before.  The caller frees the
 * outline with mtlm_outline_destroy(). */
struct mtlm_outline mtlm_outline_create(
    const struct mtlm_program_config *config, double process_bytes);
void mtlm_outline_destroy(struct mtlm_outline *outline);

/* Returns the plan of a rank of the layout; the outline owns it. */
const struct mtlm_plan *mtlm_outline_plan(const struct mtlm_outline *outline,
                                          int rank);

/* Returns the bytes that a machine must have available: the most that per_host
 * ranks with consecutive numbers take beyond process_bytes. */
double mtlm_outline_host_bytes(const struct mtlm_outline *outline,
                               int per_host);

/* Returns the bytes that the fullest rank takes of its GPU. */
double mtlm_outline_gpu_bytes(const struct mtlm_outline *outline);

#endif /* MTLM_GRAPH_OUTLINE_H */
