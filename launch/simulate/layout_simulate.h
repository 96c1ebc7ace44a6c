#ifndef MTLM_LAYOUT_SIMULATE_H
#define MTLM_LAYOUT_SIMULATE_H

/* Simulates one layout of a search. */

#include "launch/simulate/layout_list.h"
#include "runtime/base/error.h"

/* Why a layout was left out.  A code is MTLM_EXIT_OK where it was not the
 * reason; the memory of a device sets neither. */
struct mtlm_layout_refusal {
    struct mtlm_error act_mem; /* --act-mem is too small */
    struct mtlm_error size;    /* this machine lacks the memory to simulate */
};

/* Returns the windows (alpha) that a run of the layout would take. */
double mtlm_layout_simulate_window(const struct mtlm_layout_list *list,
                                   const struct mtlm_layout_found *f);

/* Sets seconds and memory of the layout, its window and its tasks.  whole:
 * simulates all microbatches, for which the caller has the memory; else two
 * parts of a long iteration.  Returns false if the layout is left out: it does
 * not fit, or this machine cannot simulate it.  May set the refusal then. */
bool mtlm_layout_simulate(const struct mtlm_layout_list *list, bool whole,
                          struct mtlm_layout_found *f,
                          struct mtlm_layout_refusal *refusal);

#endif /* MTLM_LAYOUT_SIMULATE_H */
