#ifndef MTLM_PROGRAM_TASKS_H
#define MTLM_PROGRAM_TASKS_H

/* Dependencies and operands of the tasks of an evaluated run, for files of
 * others' tools.  Tasks have numbers from 1 in order of starts; both ends of a
 * message, and all ranks of a collective, have one number. */

#include "launch/report/trace_gather.h"
#include "launch/simulate/folded_run.h"

/* Adds the edges, uses and data of one program of the run, as those of
 * MTLM_TRACE_MERGED.  The numbers of data go on. */
void mtlm_program_tasks_add(struct mtlm_gathered *all,
                            const struct mtlm_folded_run *run, int program);

/* Sorts the edges by task, then by predecessor, and keeps each once. */
void mtlm_program_tasks_sort_edges(struct mtlm_gathered *all);

#endif /* MTLM_PROGRAM_TASKS_H */
