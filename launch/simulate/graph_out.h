#ifndef MTLM_GRAPH_OUT_H
#define MTLM_GRAPH_OUT_H

#include <stdio.h>

#include "launch/simulate/folded_run.h"
#include "runtime/base/error.h"

/* Returns -1 and sets *err (MTLM_EXIT_IO) if the directory of path does not
 * exist or takes no files. */
int mtlm_graph_out_check(const char *path, struct mtlm_error *err);

/* Writes the graph of an evaluated run to path for tools of others, and prints
 * a line about the files to out.  The ending of path says the format.
 *
 * .rec: StarPU's tasks.rec, one graph of all evaluated ranks.  A message or
 * collective is one task with the operands of all its ranks.  Tasks are
 * numbered from 1 in order of starts.
 *
 * .et: Chakra execution traces of all ranks (launch/simulate/graph_ranks.h).
 *
 * Returns -1 and sets *err (MTLM_EXIT_IO) if a file cannot be written. */
int mtlm_graph_out(const struct mtlm_folded_run *run, const char *path,
                   FILE *out, struct mtlm_error *err);

#endif /* MTLM_GRAPH_OUT_H */
