#ifndef MTLM_GRAPH_CHECK_H
#define MTLM_GRAPH_CHECK_H

/* Finds the first node with an output that is not finite. */

#include "graph/run/run.h"

struct mtlm_task;
struct mtlm_checker;

/* Returns a checker for a model of `stages` virtual stages.  The caller frees
 * the checker with mtlm_checker_destroy(). */
struct mtlm_checker *mtlm_checker_create(int stages);

/* Frees the checker after all its tasks ended. */
void mtlm_checker_destroy(struct mtlm_checker *checker);

/* Makes task check the outputs of item's node after the node.  Replaces
 * task->after.  If task->after was mtlm_check_poison(), the check poisons the
 * output first. */
void mtlm_check_task(struct mtlm_checker *checker, struct mtlm_task *task,
                     const struct mtlm_item *item);

/* Sets *bad to the earliest bad node so far, in the data flow order of the
 * model.  Call after all checked tasks ended. */
void mtlm_checker_result(const struct mtlm_checker *checker,
                         struct mtlm_bad_node *bad);

/* Makes one output element of the task NaN.  For the field `after` of struct
 * mtlm_task. */
void mtlm_check_poison(const struct mtlm_task *task, void *const ptr[]);

#endif /* MTLM_GRAPH_CHECK_H */
