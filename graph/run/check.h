#ifndef MTLM_GRAPH_CHECK_H
#define MTLM_GRAPH_CHECK_H

/* Finds the first node that wrote a value that is not finite. */

#include "graph/run/run.h"

struct mtlm_task;
struct mtlm_checker;

/* Returns a checker for a model of so many virtual stages.  The caller frees
 * the checker with mtlm_checker_destroy(). */
struct mtlm_checker *mtlm_checker_create(int stages);

/* Frees the checker after all its tasks ended. */
void mtlm_checker_destroy(struct mtlm_checker *checker);

/* Makes task check the outputs of item's node.  Replaces task->after; a poison
 * stays in effect. */
void mtlm_check_task(struct mtlm_checker *checker, struct mtlm_task *task,
                     const struct mtlm_item *item);

/* Sets *bad to the earliest bad node so far, in the data flow order of the
 * model. */
void mtlm_checker_result(const struct mtlm_checker *checker,
                         struct mtlm_bad_node *bad);

/* Makes one output value of the task NaN.  A value for struct
 * mtlm_task.after. */
void mtlm_check_poison(const struct mtlm_task *task, void *const ptr[]);

#endif /* MTLM_GRAPH_CHECK_H */
