#ifndef MTLM_GRAPH_SEARCH_H
#define MTLM_GRAPH_SEARCH_H

/* Search for the fastest windows within a memory limit, by evaluation.  A
 * larger alpha keeps more microbatches in flight.  A smaller alpha leaves more
 * memory for delayed weight gradients (graph/schedule/window.h). */

#include "graph/build/program.h"
#include "graph/predict/evaluate.h"
#include "graph/predict/stage_cost.h"

struct mtlm_search {
    struct mtlm_evaluate pipeline; /* window is ignored; the schedule's windows
                                    * follow from most_memory and alpha */
    /* The input of the windows.  alpha must be 0; most_memory is the limit. */
    struct mtlm_window_model windows;
    int tries;    /* number of values of alpha, from the largest that fits down
                   * to half; behind them, 1F1B's */
    bool by_span; /* the cost is the longest span of a rank, as in the
                   * zero-bubble papers; false: the makespan */
};

/* Sets window[stages] and *alpha to the values of least cost.  Returns the cost
 * in seconds.  If the memory is too small, returns INFINITY and sets
 * nothing. */
double mtlm_search(const struct mtlm_search *search, struct mtlm_window *window,
                   double *alpha);

/* Completes a schedule whose windows come from a search (--schedule auto).
 * Tries placement loop with one and two virtual stages per rank, and placement
 * V with two.  The memory limit of the windows is config->act_mem.  If act_mem
 * is 0, the limit is the activation memory of the schedule memory_of with the
 * same layers on each rank.  kinds: of stages that are tried
 * (graph/predict/stage_kind.h).
 *
 * Evaluates with the times of `machine`, or with config->times if the machine
 * has no cluster.  Of config->times, tries as many virtual stages only.
 * Without any times messages cost nothing, so two virtual stages per rank must
 * gain 1 % to pay for more messages.  Of large pipelines, only the first
 * microbatches are evaluated.
 *
 * Sets layout.virtual_stages, layout.placement, window (alpha) and act_mem of
 * config. */
void mtlm_search_schedule(struct mtlm_program_config *config, unsigned kinds,
                          const struct mtlm_stage_cost *machine);

/* Returns alpha as it is printed, with four digits.  Rounds down: windows grow
 * just above the alpha that was found. */
double mtlm_search_alpha(double alpha);

/* Sets config->more_gradients: the slots of gradients with which the windows of
 * config->act_mem have the least makespan by config->times.  Leaves 0 if none
 * is shorter.  Call when stages, alpha and times are settled. */
void mtlm_search_gradients(struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_SEARCH_H */
