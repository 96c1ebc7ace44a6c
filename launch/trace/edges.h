#ifndef MTLM_TRACE_EDGES_H
#define MTLM_TRACE_EDGES_H

#include "launch/trace/trace.h"

/* Between ranks a receive waits for its send.  A collective ends when all of
 * its ranks have come to it: its first node, that of the smallest rank, waits
 * for what its nodes on the other ranks wait for, and each of these for the
 * first.  That says of each node all that it waits for, in as many edges as
 * there are nodes and edges within ranks.  To wait for a node of the same
 * message is to wait for what that one waits for: both are under way together.
 *
 * Adds to the *n_edges that ranks recorded within themselves, in memory from
 * malloc(), those between the ranks of the n records, and sorts them all (as
 * in struct mtlm_trace_info).  A message whose other end is not among the
 * records adds none.  Returns where they are now, for the caller to free. */
struct mtlm_trace_edge *mtlm_trace_edges_between(
    const struct mtlm_record *record, size_t n, struct mtlm_trace_edge *edge,
    size_t *n_edges);

#endif /* MTLM_TRACE_EDGES_H */
