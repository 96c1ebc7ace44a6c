#ifndef MTLM_GRAPH_SAVE_H
#define MTLM_GRAPH_SAVE_H

#include "graph/build/program.h"

/* The nodes that copy, between two iterations, what this rank writes of a
 * checkpoint (config.save): the optimizer's next step waits for the copies,
 * nothing for the files.  They are short and come before all of the next
 * iteration, so that the files are begun early.
 *
 * Each element is written by one rank, those that data-parallel ranks have
 * alike by turns; of 16-bit weights their masters.  Makes the tensors `saved`
 * of the program's parameters, one set that each checkpoint uses again. */
void mtlm_save_build(struct mtlm_program *program);

#endif /* MTLM_GRAPH_SAVE_H */
