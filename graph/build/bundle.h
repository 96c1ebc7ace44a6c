#ifndef MTLM_GRAPH_BUNDLE_H
#define MTLM_GRAPH_BUNDLE_H

/* Bundles: several calls of one operation on small tensors share a node. */

#include "graph/build/program.h"

/* Calls of one operation on the tensors of parameters.  A layer has a dozen
 * parameters, most of them small.  A node per call would cost a GPU a task and
 * a kernel launch for microseconds of work.  Some CUDA kernels compute all
 * calls of a node at once (codelets/op.h: cuda_together); others compute call
 * after call.
 *
 * A node takes no more calls when the calls have program->bundle_elems
 * elements, at MTLM_MAX_CALLS calls, or where a call uses other units of the
 * disk (graph/build/offload.h).  The limits depend on model and layout
 * only, never on the number of workers.  Nodes are many enough to occupy
 * several workers, and small enough that the next iteration's first layers
 * start early.  Nodes that add to the status vector run one at a time.
 *
 * Results do not depend on bundles: no call reads what another call writes. */
struct mtlm_bundle {
    struct mtlm_program *program;
    enum mtlm_op_kind kind;
    struct mtlm_node *node; /* last node; NULL: none yet */
    int calls;              /* calls of node */
    int64_t elems;          /* elements of the first operands of these calls */
};

/* Returns the elements that close a node, for a rank that steps n elements: n /
 * MTLM_BUNDLE_PARTS, at most MTLM_BUNDLE_ELEMS.  Only a bundle's last node and
 * nodes of MTLM_MAX_CALLS calls may have fewer. */
#define MTLM_BUNDLE_PARTS 16
#define MTLM_BUNDLE_ELEMS (4 << 20)
int64_t mtlm_bundle_elems(int64_t n);

/* Appends a call to the bundle's last node, or to a new node of the graph's
 * current list.  All operands are given. */
void mtlm_bundle_add(struct mtlm_bundle *bundle, const union mtlm_attr *attr,
                     struct mtlm_tensor *const given[]);

#endif /* MTLM_GRAPH_BUNDLE_H */
