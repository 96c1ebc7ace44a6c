#ifndef MTLM_GRAPH_BUNDLE_H
#define MTLM_GRAPH_BUNDLE_H

#include "graph/build/program.h"

/* Calls of one operation on tensors of parameters, of which a layer has a
 * dozen and most are small.  A node for each would mostly cost more than it
 * does - on a GPU a task and the launch of a kernel for microseconds - so
 * calls share nodes.  The CUDA kernels of some take them together
 * (op.h: cuda_together), of others one after the other.
 *
 * A node is closed once it has enough elements, by model and layout alone and
 * never by the number of workers: some nodes are left for several of them to
 * share (but for what adds to the status, which is one's at a time), and none
 * is so large that the next iteration would wait for layers that it does not
 * need yet.  No result depends on it: calls do not read what others write. */
struct mtlm_bundle {
    struct mtlm_program *program;
    enum mtlm_op_kind kind;
    struct mtlm_node *node; /* the last one; NULL: none yet */
    int calls;              /* that it has */
    int64_t elems;          /* of the first operands of these */
};

/* Elements that a node has at least, of a rank that steps n elements in all;
 * only a bucket's last node may have fewer.  So there are no more than
 * MTLM_BUNDLE_PARTS nodes and one for each bucket, until n is so large that
 * MTLM_BUNDLE_ELEMS are enough; and fewer where single parameters are larger
 * than that. */
#define MTLM_BUNDLE_PARTS 16
#define MTLM_BUNDLE_ELEMS (4 << 20)
int64_t mtlm_bundle_elems(int64_t n);

/* Appends a call to the graph's current list: to the bundle's last node, or as
 * a new one.  All operands are given. */
void mtlm_bundle_add(struct mtlm_bundle *bundle, const union mtlm_attr *attr,
                     struct mtlm_tensor *const given[]);

#endif /* MTLM_GRAPH_BUNDLE_H */
