#ifndef MTLM_GRAPH_RUN_WATCH_H
#define MTLM_GRAPH_RUN_WATCH_H

/* What scheduling policies learn about submitted nodes. */

#include "graph/run/collective_plan.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/recorder.h"

/* The nodes of one run, for policies. */
struct mtlm_run_watch;

/* Tells policies the rank's place in the job and its workers that compute.
 * Returns a new object, or NULL if no policy watches nodes.  program is
 * borrowed. */
struct mtlm_run_watch *mtlm_run_watch_create(const struct mtlm_program *program,
                                             int workers);

/* Frees the object after all submitted nodes ended; NULL is allowed. */
void mtlm_run_watch_destroy(struct mtlm_run_watch *w);

/* Nodes only read the tensor from here on (mtlm_dependencies_fix()).  w may be
 * NULL. */
void mtlm_run_watch_fix(struct mtlm_run_watch *w,
                        const struct mtlm_tensor *tensor);

/* The collectives of the next iteration, of so many microbatches, have the
 * order of the plan; NULL: no plan. */
void mtlm_run_watch_plan(struct mtlm_run_watch *w,
                         const struct mtlm_collective_plan *plan,
                         int64_t microbatches);

/* Announces that item is submitted next, with record.  use: number of the
 * item's use of its tensors.  microbatches: of the iteration or validation.
 * modelled_ns: expected duration in ns, 0: unknown.
 * Returns the node for the calls of runtime/comm/policy_nodes.h, or NULL if w
 * is NULL. */
struct mtlm_policy_node *mtlm_run_watch_node(struct mtlm_run_watch *w,
                                             const struct mtlm_item *item,
                                             int64_t use,
                                             const struct mtlm_record *record,
                                             int64_t microbatches,
                                             int64_t modelled_ns);

#endif /* MTLM_GRAPH_RUN_WATCH_H */
