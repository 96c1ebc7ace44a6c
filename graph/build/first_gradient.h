#ifndef MTLM_GRAPH_FIRST_GRADIENT_H
#define MTLM_GRAPH_FIRST_GRADIENT_H

/* Gradients that the first microbatch of an iteration sets, so that no node
 * clears them before.  Clearing writes each gradient of a weight matrix once
 * more per iteration, and the first W reads the zeros. */

#include "graph/build/program.h"

/* Marks the parameters whose gradient is first written by a product, and the
 * nodes of these products.  Call when F, B and W of all virtual stages are
 * built, before reductions and optimizer.
 *
 * Left out: gradients whose reduced piece is another tensor, in the same memory
 * (distributed optimizer).  The node that clears such a gradient keeps the next
 * W behind the optimizer's step. */
void mtlm_first_gradient_mark(struct mtlm_program *program);

#endif /* MTLM_GRAPH_FIRST_GRADIENT_H */
