#ifndef MTLM_GRAPH_SUBMIT_WATCH_H
#define MTLM_GRAPH_SUBMIT_WATCH_H

#include "graph/build/program.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/recorder.h"

/* What scheduling policies are told of nodes when they are submitted. */
struct mtlm_run_watch;

/* The program is borrowed.  NULL: no policy wants to know. */
struct mtlm_run_watch *mtlm_run_watch_create(
    const struct mtlm_program *program);
/* All that was submitted is done.  NULL is fine. */
void mtlm_run_watch_destroy(struct mtlm_run_watch *w);

/* item is submitted next, with that record, and uses its tensors for the
 * use-th time; modelled_ns: how long it is to take, 0: not known.  Returns the
 * node, which runtime/comm/policy_nodes.h is to be told of; NULL without w. */
struct mtlm_policy_node *mtlm_run_watch_node(struct mtlm_run_watch *w,
                                             const struct mtlm_item *item,
                                             int64_t use,
                                             const struct mtlm_record *record,
                                             int64_t modelled_ns);

#endif /* MTLM_GRAPH_SUBMIT_WATCH_H */
