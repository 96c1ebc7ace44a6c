#ifndef MTLM_EVALUATED_RECORDS_H
#define MTLM_EVALUATED_RECORDS_H

#include "graph/predict/evaluate_program.h"
#include "runtime/machine/recorder.h"

/* Records of evaluated programs, as of a run. */

/* Returns the worker of each node of the execution: [run->n]; -1: a message.
 * Each node goes to the worker that is free first.  The caller frees the
 * array. */
int *mtlm_evaluated_records_workers(const struct mtlm_execution *run,
                                    int programs, int workers);

/* Returns the record of a node.  Its rank is the number of the program, its job
 * the place in the order of starts; the node matches no other. */
struct mtlm_record mtlm_evaluated_records_make(const struct mtlm_executed *node,
                                               int worker);

/* Returns the *n records of the iterations first .. last, in order of starts.
 * The caller frees the array. */
struct mtlm_record *mtlm_evaluated_records_list(
    const struct mtlm_execution *run, int programs, int workers, int first,
    int last, size_t *n);

#endif /* MTLM_EVALUATED_RECORDS_H */
