#ifndef MTLM_GRAPH_RECOMPUTE_H
#define MTLM_GRAPH_RECOMPUTE_H

#include "graph/build/program.h"

/* Activation recomputation (arXiv 2205.05198, section 5): what runs of forward
 * nodes wrote is not kept until its gradients read it; the nodes are called
 * again before these.
 *
 *   full, uniform  groups of num_layers layers of a virtual stage, of each of
 *                  which the input is kept
 *   full, block    each of the first num_layers layers of a virtual stage
 *   selective      the core of every attention: from queries, keys and values
 *                  to their mix
 *
 * Nothing changes in the results, not a bit: dropout draws from numbers of
 * samples and sites (runtime/base/philox.h), collectives add in a fixed order.
 */

/* Nodes begin .. end - 1 of a forward list. */
struct mtlm_segment {
    int begin, end;
};

/* In order, apart from each other. */
struct mtlm_segments {
    struct mtlm_segment *segment;
    int n;
};

/* What is to be called again of stage's forward list; to be freed with
 * mtlm_segments_free(). */
struct mtlm_segments mtlm_recompute_segments(
    const struct mtlm_recompute *recompute, const struct mtlm_stage *stage);
void mtlm_segments_free(struct mtlm_segments *segments);

/* Calls again, in the phase B into list, those nodes of the segment whose
 * outputs the gradients of the segment read, or that these need in turn.
 *
 * twin[id of a tensor]: what was written instead of it, or NULL; of every
 * tensor of the graph before the gradients.  A gradient that a tensor has
 * already becomes its twin's. */
void mtlm_recompute_again(struct mtlm_graph *graph,
                          const struct mtlm_list *forward,
                          struct mtlm_segment segment, struct mtlm_list *list,
                          struct mtlm_tensor **twin);

/* Calls one node again into the graph's present list and phase. */
void mtlm_recompute_node(struct mtlm_graph *graph, const struct mtlm_node *node,
                         struct mtlm_tensor **twin);

#endif /* MTLM_GRAPH_RECOMPUTE_H */
