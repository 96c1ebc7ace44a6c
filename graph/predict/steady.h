#ifndef MTLM_GRAPH_STEADY_H
#define MTLM_GRAPH_STEADY_H

/* The steady state of a pipeline whose iterations overlap: --weight-staleness 1
 * (graph/build/version.h).  Passes of the next iteration follow without a
 * flush, as in one endless iteration. */

#include "graph/predict/work.h"

struct mtlm_steady {
    double microbatch_s; /* seconds from one microbatch to the next */
    double bubble;       /* idle share of the busiest rank */
    double all_bubble;   /* the mean of that share over all ranks */
    int held; /* microbatches that the fullest stage holds: w + q.  An iteration
               * of fewer ones waits for the optimizer after all. */
};

/* Evaluates the steady state: two evaluations of many microbatches, whose
 * difference leaves out the first fill and the last drain.  Messages of
 * data-parallel ranks and the optimizer take no time.  The program must follow
 * no order. */
struct mtlm_steady mtlm_steady_evaluate(const struct mtlm_work *work);

#endif /* MTLM_GRAPH_STEADY_H */
