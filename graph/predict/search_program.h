#ifndef MTLM_GRAPH_SEARCH_PROGRAM_H
#define MTLM_GRAPH_SEARCH_PROGRAM_H

/* The last comparison of --schedule auto: by the programs of all pipeline
 * ranks, on a modelled machine.  The searches before know stages only.  There,
 * a collective keeps the worker of its pass; in a program, the worker runs
 * other passes beside the collective. */

#include "graph/predict/found_order.h"
#include "graph/predict/stage_cost.h"

/* The comparison. */
struct mtlm_search_program {
    const struct mtlm_stage_cost *machine; /* has a cluster; borrowed */
    unsigned kinds; /* of stages that are tried (stage_kind.h) */
    bool waits;     /* the policy has the hold rule (graph/predict/hold.h) */
    bool whole; /* *found->seconds is of all microbatches, to be compared with
                 * another search's */
    bool ignores_memory; /* programs may need more than a device has */
};

/* Replaces a choice by one that is shorter by 0.1 % in the same memory,
 * config->act_mem on each rank, and by any that fits if the choice does not fit
 * into the memory of a device (search->machine->cluster->memory_bytes; 0:
 * unknown; unless ignores_memory).
 * config: the windows of mtlm_search_schedule().
 * *found: the choice of mtlm_search_order(); without ranks, the windows of
 * config.
 *
 * Tries the windows of config, also with all microbatches.  For each kind of
 * stages, tries the windows of the largest alpha and of 1F1B's.  Tries each
 * schedule: its published order as priorities and strictly, and, where B and W
 * are apart, the order that its windows make, as priorities.  Without tensor
 * parallelism, leaves out programs whose stages take 2 % more than those of the
 * choice.  Tries the published orders of fused schedules with three and more
 * virtual stages on each rank, too (mtlm_stage_kind_deeper()).  Beyond
 * MTLM_SEARCH_LIMIT_BOXES, tries windows alone.  If the choice does not fit,
 * tries windows in parts of config->act_mem, too.  Of large programs, only the
 * first microbatches are evaluated.  All microbatches decide between the
 * shortest chain and the shortest of the others.
 *
 * Sets layout, window and act_mem of config, and *found.  Sets seconds and
 * too_large of *windows and *found to those of the programs; late_seconds to
 * 0. */
void mtlm_search_program(const struct mtlm_search_program *search,
                         struct mtlm_program_config *config,
                         struct mtlm_found_order *windows,
                         struct mtlm_found_order *found);

/* Returns whether an order of mtlm_search_order_own() takes no longer than the
 * windows of config, by programs; 0.1 % do not count. */
bool mtlm_search_program_allows(const struct mtlm_search_program *search,
                                const struct mtlm_program_config *config,
                                const struct mtlm_found_order *found);

#endif /* MTLM_GRAPH_SEARCH_PROGRAM_H */
