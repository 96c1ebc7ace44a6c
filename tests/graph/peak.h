#ifndef MTLM_TESTS_PEAK_H
#define MTLM_TESTS_PEAK_H

/* What the tasks of an evaluation keep at the most: the evaluation itself knows
 * times only. */

#include "graph/predict/evaluate.h"

enum { PEAK_MOST = 128 }; /* stages */

struct peak {
    double memory; /* of the fullest rank */
    /* Per stage: microbatches between F and the end of B (w), and more until
     * the end of W (q). */
    struct mtlm_window window[PEAK_MOST];
};

/* memory[stages]: of a microbatch's activations.  weight_share of it is kept
 * until W ends, the rest until B ends. */
struct peak peak_of(const struct mtlm_evaluate *pipeline,
                    const struct mtlm_evaluation *e, const double *memory,
                    double weight_share);

#endif /* MTLM_TESTS_PEAK_H */
