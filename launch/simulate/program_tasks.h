#ifndef MTLM_PROGRAM_TASKS_H
#define MTLM_PROGRAM_TASKS_H

/* Dependencies and operands of the tasks of an evaluated run, for files of
 * others' tools.  Tasks have numbers from 1 in order of starts; both ends of a
 * message, and all ranks of a collective, have one number. */

#include "launch/report/trace_gather.h"
#include "launch/simulate/folded_run.h"

/* Where the run follows the chains of published code
 * (mtlm_folded_run_chains()), and the item is a link: adds the edge to the link
 * before, unless the item has that edge.  Call after mtlm_run_record_node() of
 * the item.  Items have their numbers in the program as jobs.
 *
 * link: the newest link of the program that the recorder knows, which the call
 * updates; -1: none. */
void mtlm_program_tasks_chain(const struct mtlm_folded_run *run,
                              const struct mtlm_program *program,
                              const struct mtlm_item *item,
                              struct mtlm_recorder *recorder, int64_t *link);

/* Adds the edges, uses and data of one program of the run, as those of
 * MTLM_TRACE_MERGED.  The numbers of data go on. */
void mtlm_program_tasks_add(struct mtlm_gathered *all,
                            const struct mtlm_folded_run *run, int program);

/* Sorts the edges by task, then by predecessor, and keeps each once. */
void mtlm_program_tasks_sort_edges(struct mtlm_gathered *all);

#endif /* MTLM_PROGRAM_TASKS_H */
