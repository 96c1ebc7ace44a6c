#ifndef MTLM_GRAPH_OUTLINE_H
#define MTLM_GRAPH_OUTLINE_H

#include "graph/predict/plan.h"

/* The plans of all ranks of a layout, none of which has to exist: nothing is
 * allocated but the description of one rank's graph at a time. */
struct mtlm_outline {
    struct mtlm_layout layout;
    struct mtlm_plan *plan; /* [pp]: of the first tensor-parallel rank, which
                             * has no less to do than the others */
};

/* The plan of one stage alone. */
struct mtlm_plan mtlm_outline_stage(const struct mtlm_program_config *config,
                                    int stage, double process_bytes);

/* config.layout says how many ranks there are; its coordinates and the data
 * sources do not matter.  process_bytes: what each process has already. */
struct mtlm_outline mtlm_outline_create(
    const struct mtlm_program_config *config, double process_bytes);
void mtlm_outline_destroy(struct mtlm_outline *outline);

/* The plan of any rank of the layout. */
const struct mtlm_plan *mtlm_outline_plan(const struct mtlm_outline *outline,
                                          int rank);

/* The most that per_host ranks with consecutive numbers take together beyond
 * what their processes have: what a machine must have available. */
double mtlm_outline_host_bytes(const struct mtlm_outline *outline,
                               int per_host);

/* What the fullest rank takes of its GPU. */
double mtlm_outline_gpu_bytes(const struct mtlm_outline *outline);

#endif /* MTLM_GRAPH_OUTLINE_H */
