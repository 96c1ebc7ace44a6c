#ifndef MTLM_GRAPH_RANKS_H
#define MTLM_GRAPH_RANKS_H

#include "launch/simulate/folded_run.h"
#include "runtime/base/error.h"

/* Writes the graph of an evaluated run as Chakra execution traces.  path is
 * PREFIX.et; PREFIX.0.et, PREFIX.1.et, ... are the ranks of the whole job, and
 * PREFIX.groups.json has the groups of collectives.  A rank that was left out
 * has the nodes of the rank that stands for it, with its own peers and groups.
 * Nodes have the numbers of tasks (launch/simulate/program_tasks.h).  Memory is
 * that of one rank's nodes.
 *
 * Sets *nodes to the number of nodes of all files.  Files of further ranks,
 * which an earlier graph of that name had, are removed; *old is their number.
 * Returns -1 and sets *err (MTLM_EXIT_IO) at the first file that cannot be
 * written, and removes the files before it.  If there are such files, removes
 * the rest of the earlier graph, too. */
int mtlm_graph_ranks(const struct mtlm_folded_run *run, const char *path,
                     int64_t *nodes, int *old, struct mtlm_error *err);

#endif /* MTLM_GRAPH_RANKS_H */
