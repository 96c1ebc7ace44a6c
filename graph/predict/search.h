#ifndef MTLM_GRAPH_SEARCH_H
#define MTLM_GRAPH_SEARCH_H

/* Search for the cheapest windows within a memory, by evaluation.  A larger
 * alpha keeps more microbatches under way; a smaller one leaves more room for
 * weight gradients that wait (graph/schedule/window.h). */

#include "graph/build/program.h"
#include "graph/predict/evaluate.h"

struct mtlm_search {
    struct mtlm_evaluate pipeline; /* its window is not read; its schedule
                                    * takes windows from memory and alpha */
    /* The input of the windows: alpha is 0, most_memory is the memory. */
    struct mtlm_window_model windows;
    int tries;    /* values of alpha, from the largest down to half of it */
    bool by_span; /* the cost is the longest span of a rank, as in the
                   * zero-bubble papers; otherwise the makespan */
};

/* Sets window[stages] and *alpha to the cheapest.  Returns their cost in
 * seconds; INFINITY, with nothing set, where the memory is too small. */
double mtlm_search(const struct mtlm_search *search, struct mtlm_window *window,
                   double *alpha);

/* Completes a schedule whose windows come from a search (--schedule auto).
 * Tries placement loop with one and two virtual stages a rank, and placement V;
 * each with all windows within the memory.  The memory is config.act_mem; where
 * that is 0, the activations that schedule->memory_of keeps.  chunks > 0: the
 * virtual stages and the placement of config stay.
 *
 * Messages cost nothing here, so two stages a rank must gain 1 % to pay for
 * theirs.  Of large pipelines, only the first microbatches are evaluated.
 *
 * Sets the layout's virtual stages and placement, window and act_mem. */
void mtlm_search_schedule(struct mtlm_program_config *config, int chunks);

#endif /* MTLM_GRAPH_SEARCH_H */
