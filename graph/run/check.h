#ifndef MTLM_GRAPH_CHECK_H
#define MTLM_GRAPH_CHECK_H

#include "graph/run/run.h"

/* Looks at what nodes write, to find the first value that is not finite. */

struct mtlm_task;
struct mtlm_checker;

struct mtlm_checker *mtlm_checker_create(int stages);
void mtlm_checker_destroy(struct mtlm_checker *checker);

/* Makes task check what item's node writes; keeps what task->after did. */
void mtlm_check_task(struct mtlm_checker *checker, struct mtlm_task *task,
                     const struct mtlm_item *item);

/* The earliest bad node so far, in the order of the model's data flow. */
void mtlm_checker_result(const struct mtlm_checker *checker,
                         struct mtlm_bad_node *bad);

/* For struct mtlm_task.after: makes one output value NaN. */
void mtlm_check_poison(const struct mtlm_task *task, void *const ptr[]);

#endif /* MTLM_GRAPH_CHECK_H */
