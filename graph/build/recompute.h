#ifndef MTLM_GRAPH_RECOMPUTE_H
#define MTLM_GRAPH_RECOMPUTE_H

/* Activation recomputation (arXiv 2205.05198, section 5): activations of
 * selected segments of the forward list are discarded and recomputed before
 * their gradients.
 *
 *   full, uniform  groups of num_layers layers of a virtual stage; the input of
 *                  each group is kept
 *   full, block    each of the first num_layers layers of a virtual stage
 *   selective      the core of every attention: from queries, keys and values
 *                  to the weighted sums of values
 *
 * Results stay bit for bit the same.  Dropout masks depend on sample and site
 * only (runtime/base/philox.h), and collectives add in a fixed order. */

#include "graph/build/program.h"

/* Nodes begin .. end - 1 of a forward list. */
struct mtlm_segment {
    int begin, end;
};

/* In ascending order, without overlap. */
struct mtlm_segments {
    struct mtlm_segment *segment;
    int n;
    bool whole; /* all nodes of a segment are recomputed */
};

/* Returns the segments of stage's forward list to recompute.  The caller frees
 * the result with mtlm_segments_free(). */
struct mtlm_segments mtlm_recompute_segments(
    const struct mtlm_recompute *recompute, const struct mtlm_stage *stage);

/* Frees the array of segments. */
void mtlm_segments_free(struct mtlm_segments *segments);

/* Appends copies of the segment's nodes to list, in phase B.  Copies the nodes
 * whose outputs the segment's gradients read, and the nodes that compute inputs
 * of copied nodes; whole: all nodes.
 *
 * twin[id]: the recomputed tensor that replaces the forward tensor with this
 * id, or NULL.  The function sets the twins of recomputed tensors.  A twin
 * takes over the existing gradient of the forward tensor. */
void mtlm_recompute_again(struct mtlm_graph *graph,
                          const struct mtlm_list *forward,
                          struct mtlm_segment segment, bool whole,
                          struct mtlm_list *list, struct mtlm_tensor **twin);

/* Appends a copy of one node to the graph's current list and phase.  Reads and
 * sets twin as above. */
void mtlm_recompute_node(struct mtlm_graph *graph, const struct mtlm_node *node,
                         struct mtlm_tensor **twin);

#endif /* MTLM_GRAPH_RECOMPUTE_H */
