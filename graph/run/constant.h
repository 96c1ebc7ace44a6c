#ifndef MTLM_GRAPH_RUN_CONSTANT_H
#define MTLM_GRAPH_RUN_CONSTANT_H

#include "graph/run/run_private.h"

/* Ends the order of nodes on tensors that the items of the lists [n] only read:
 * the weights, unless the job trains.  A StarPU with FxT keeps 32 bytes for
 * each reader since the last writer (implicit_data_deps.c there), so memory
 * would grow with every token.  Offloaded weights of a GPU keep their order:
 * loads write these.  All nodes must have ended.  Afterwards no node may write
 * such a tensor. */
void mtlm_run_fix_constants(struct mtlm_run *run,
                            const struct mtlm_items *const *list, int n);

#endif /* MTLM_GRAPH_RUN_CONSTANT_H */
