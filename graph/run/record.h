#ifndef MTLM_GRAPH_RUN_RECORD_H
#define MTLM_GRAPH_RUN_RECORD_H

/* Trace records of submitted nodes. */

#include <stdbool.h>

#include "graph/build/program.h"
#include "runtime/machine/recorder.h"

/* Recorder of dependencies, data uses, and matches with nodes of other
 * ranks. */
struct mtlm_run_record;

/* Returns a new object; program and recorder are borrowed. */
struct mtlm_run_record *mtlm_run_record_create(
    const struct mtlm_program *program, struct mtlm_recorder *recorder);

/* Frees the object; NULL is allowed. */
void mtlm_run_record_destroy(struct mtlm_run_record *r);

/* Announces that a list of items is submitted next.  All ranks announce the
 * same lists in the same order.  recorded: the nodes of the list are recorded.
 * After a list that is not recorded, recorded dependencies start afresh: later
 * nodes depend on no earlier node. */
void mtlm_run_record_list(struct mtlm_run_record *r, bool recorded);

/* Announces that item is submitted next.  use: number of the item's use of its
 * tensors.  Sets group, group_root and match of record; the caller has set
 * record->job and record->iteration. */
void mtlm_run_record_node(struct mtlm_run_record *r,
                          const struct mtlm_item *item, int64_t use,
                          struct mtlm_record *record);

#endif /* MTLM_GRAPH_RUN_RECORD_H */
