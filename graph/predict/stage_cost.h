#ifndef MTLM_GRAPH_STAGE_COST_H
#define MTLM_GRAPH_STAGE_COST_H

/* Times of the stages of a program on a modelled machine
 * (graph/predict/cost.h). */

#include "graph/build/program.h"
#include "graph/predict/cost.h"

/* The machines of all ranks. */
struct mtlm_stage_cost {
    const struct mtlm_cluster *cluster; /* borrowed; NULL: no model */
    double stretch;                     /* factor of all times */
    int64_t slow_rank;                  /* a rank of another speed; -1: none */
    double speed; /* of slow_rank's computation, relative to the others */
};

/* Returns the times of every virtual stage of config.  The sums are over the
 * nodes of a pass; a tensor-parallel collective counts as part of its pass.  W
 * that runs at the priority of B counts as B (graph/build/pool.h).  A stage
 * that the slow rank holds has that rank's times.  The hop is the mean of all
 * messages between stages; of the parts of a message, the longest counts.  The
 * caller frees the result with mtlm_stage_times_free(). */
struct mtlm_stage_times mtlm_stage_cost_times(
    const struct mtlm_stage_cost *machine,
    const struct mtlm_program_config *config);

/* Gives config the times of the machine if the machine has a cluster; else
 * config keeps its times.  *times: what config borrows then, empty otherwise;
 * the caller frees it with mtlm_stage_times_free(). */
void mtlm_stage_cost_take(const struct mtlm_stage_cost *machine,
                          struct mtlm_program_config *config,
                          struct mtlm_stage_times *times);

#endif /* MTLM_GRAPH_STAGE_COST_H */
