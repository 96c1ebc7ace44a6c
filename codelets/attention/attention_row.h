#ifndef MTLM_ATTENTION_ROW_H
#define MTLM_ATTENTION_ROW_H

/* The arithmetic of attention between its products: on the scores of one query
 * with the n keys of a block. */

#include <stdint.h>

#include "runtime/base/dtype.h"

/* Replaces the scores by 2^(scale score - max).  max: the greatest scale score
 * so far.  Adds the results to sum.  Rescales sum, and o [d], the sums over
 * earlier keys, to the new maximum. */
void mtlm_attention_row_softmax(mtlm_real *score, int64_t n, mtlm_real scale,
                                mtlm_real *max, mtlm_real *sum, mtlm_real *o,
                                int64_t d);

/* Multiplies probabilities by their dropout factors. */
void mtlm_attention_row_drop(mtlm_real *prob, const mtlm_real *factor,
                             int64_t n);

/* Turns scores and dprob = dy v^T into dropped probabilities and gradients of
 * the scores, in place.  Probabilities are 2^(scale score - lse).  factor:
 * dropout factors, or NULL.  delta: the query's sum of y dy. */
void mtlm_attention_row_gradient(mtlm_real *score, mtlm_real *dprob,
                                 const mtlm_real *factor, int64_t n,
                                 mtlm_real scale, mtlm_real lse,
                                 mtlm_real delta);

/* Returns the sum of x [n] y [n]. */
mtlm_real mtlm_attention_row_dot(const mtlm_real *x, const mtlm_real *y,
                                 int64_t n);

#endif /* MTLM_ATTENTION_ROW_H */
