#ifndef MTLM_GRAPH_SAVE_H
#define MTLM_GRAPH_SAVE_H

/* Checkpoint copies. */

#include "graph/build/program.h"

/* Appends the nodes that copy this rank's share of a checkpoint (config.save)
 * between two iterations.  The optimizer's next step waits for the copies; no
 * node waits for the files.  The copies are short and precede all nodes of the
 * next iteration, so the files begin early.
 *
 * Exactly one rank writes each element.  Data-parallel ranks that hold the same
 * parameter take turns.  16-bit weights are saved as their masters.  Creates
 * the tensors `saved` of the program's parameters once; each checkpoint reuses
 * them. */
void mtlm_save_build(struct mtlm_program *program);

#endif /* MTLM_GRAPH_SAVE_H */
