#ifndef MTLM_GRAPH_OUT_H
#define MTLM_GRAPH_OUT_H

#include "launch/simulate/folded_run.h"
#include "runtime/base/error.h"

/* Returns -1 and sets *err (MTLM_EXIT_IO) if the directory of path does not
 * exist or takes no files. */
int mtlm_graph_out_check(const char *path, struct mtlm_error *err);

/* Writes the graph of an evaluated run to path, for tools of others: StarPU's
 * tasks.rec, one graph of all evaluated ranks.  A message or collective is one
 * task with the operands of all its ranks.  Tasks are numbered from 1 in order
 * of starts.  Sets *tasks to their number.  Returns -1 and sets *err
 * (MTLM_EXIT_IO) if the file cannot be written. */
int mtlm_graph_out(const struct mtlm_folded_run *run, const char *path,
                   int *tasks, struct mtlm_error *err);

#endif /* MTLM_GRAPH_OUT_H */
