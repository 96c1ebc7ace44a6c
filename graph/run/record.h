#ifndef MTLM_GRAPH_SUBMIT_RECORD_H
#define MTLM_GRAPH_SUBMIT_RECORD_H

#include <stdbool.h>

#include "graph/build/program.h"
#include "runtime/machine/recorder.h"

/* What the recorder is told when nodes are submitted: what they wait for and
 * use, and which nodes of other ranks they meet. */
struct mtlm_run_record;

/* Both are borrowed.  destroy(NULL) is fine. */
struct mtlm_run_record *mtlm_run_record_create(
    const struct mtlm_program *program, struct mtlm_recorder *recorder);
void mtlm_run_record_destroy(struct mtlm_run_record *r);

/* A list of items is submitted next: the same lists, in the same order, on all
 * ranks.  recorded: whether its nodes are.  Those of two lists with one
 * between them that is not recorded are taken not to wait for each other. */
void mtlm_run_record_pass(struct mtlm_run_record *r, bool recorded);

/* item is submitted next, and uses its tensors for the use-th time: fills in
 * group, group_root and match of its record, whose job is set. */
void mtlm_run_record_node(struct mtlm_run_record *r,
                          const struct mtlm_item *item, int64_t use,
                          struct mtlm_record *record);

#endif /* MTLM_GRAPH_SUBMIT_RECORD_H */
