#ifndef MTLM_GRAPH_BUNDLE_H
#define MTLM_GRAPH_BUNDLE_H

/* Bundles: several calls of one operation on small tensors share a node. */

#include "graph/build/program.h"

/* Calls of one operation on the tensors of parameters.  A layer has a dozen
 * parameters, most of them small.  On a GPU, one node per call would cost more
 * than the call: a task and a kernel launch for microseconds of work.  Some
 * CUDA kernels compute all calls of a node at once (op.h: cuda_together);
 * others compute call after call.
 *
 * A node closes when its elements suffice.  The limit depends on model and
 * layout only, never on the number of workers.  Several workers share the
 * nodes, except nodes that add to the status vector, which run one at a time.
 * No node is so large that the next iteration waits for layers that it does not
 * need yet.  No result depends on the bundling: no call reads what another call
 * writes. */
struct mtlm_bundle {
    struct mtlm_program *program;
    enum mtlm_op_kind kind;
    struct mtlm_node *node; /* last node; NULL: none yet */
    int calls;              /* calls of node */
    int64_t elems;          /* elements of the first operands of these calls */
};

/* Returns the minimum elements of a node for a rank that steps n elements; only
 * a bucket's last node may have fewer.  A rank has at most MTLM_BUNDLE_PARTS
 * nodes plus one per bucket, unless n is so large that MTLM_BUNDLE_ELEMS
 * suffice.  Parameters larger than the minimum make the number of nodes
 * smaller. */
#define MTLM_BUNDLE_PARTS 16
#define MTLM_BUNDLE_ELEMS (4 << 20)
int64_t mtlm_bundle_elems(int64_t n);

/* Appends a call to the bundle's last node, or to a new node of the graph's
 * current list.  All operands are given. */
void mtlm_bundle_add(struct mtlm_bundle *bundle, const union mtlm_attr *attr,
                     struct mtlm_tensor *const given[]);

#endif /* MTLM_GRAPH_BUNDLE_H */
