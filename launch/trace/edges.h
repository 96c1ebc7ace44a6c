#ifndef MTLM_TRACE_EDGES_H
#define MTLM_TRACE_EDGES_H

#include "launch/trace/trace.h"

/* Edges between ranks, derived from the messages of the records.
 *
 * A receive waits for its send.  A collective's first node is the node of the
 * smallest rank.  The first node waits for the predecessors of the collective's
 * nodes on all ranks; the other nodes wait for the first.  The number of edges
 * is at most the number of nodes and of edges within ranks.  An edge between
 * two nodes of one message stands for the predecessors of the second node: both
 * run together.
 *
 * Appends these edges to the *n_edges edges within ranks at edge, from
 * malloc(), and sorts all of them as struct mtlm_trace_info has them.  A
 * message without its other end adds none.  Returns the edges, which the caller
 * frees. */
struct mtlm_trace_edge *mtlm_trace_edges_between(
    const struct mtlm_record *record, size_t n, struct mtlm_trace_edge *edge,
    size_t *n_edges);

#endif /* MTLM_TRACE_EDGES_H */
