#ifndef MTLM_GRAPH_PROGRAM_ITEMS_H
#define MTLM_GRAPH_PROGRAM_ITEMS_H

/* The items of a program: its nodes in program order, with priorities. */

#include "graph/build/program.h"

/* Writes the items of all lists, with loads and stores of offloaded state, and
 * notes the bytes of the latter.  Call when all nodes are built. */
void mtlm_program_items_write(struct mtlm_program *program);

/* Notes the bytes of loads and stores, and leaves the program without items. */
void mtlm_program_items_count(struct mtlm_program *program);

#endif /* MTLM_GRAPH_PROGRAM_ITEMS_H */
