#ifndef MTLM_GRAPH_SCORE_COST_H
#define MTLM_GRAPH_SCORE_COST_H

/* What attention costs that writes its scores, s^2 for each head and sample:
 * --attention-backend unfused and local of a modelled run.  Other backends keep
 * no scores in memory (arXiv 2205.14135).
 *
 * Elements for each score, and a byte for the mask of dropout:
 *
 *                     forward                    backward
 *   products          written, read: 2           written, read three times: 4
 *   softmax           2                          3
 *   dropout           2 and the mask             2 and the mask
 *
 * Products move bytes while they compute.  Softmax and dropout are kernels of
 * their own, and wait for memory. */

#include "codelets/op.h"

struct mtlm_score_cost {
    int kernels;            /* that attention launches; 1: keeps no scores */
    double products, apart; /* bytes: of products; of other kernels */
};

/* Returns the cost of a call of any operation, for elements of element_bytes
 * bytes. */
struct mtlm_score_cost mtlm_score_cost(const struct mtlm_call *call,
                                       double element_bytes);

#endif /* MTLM_GRAPH_SCORE_COST_H */
