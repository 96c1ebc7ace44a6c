#ifndef MTLM_GRAPH_WORK_H
#define MTLM_GRAPH_WORK_H

/* The work of a program as a pipeline to evaluate: FLOPs as times, messages
 * that take none. */

#include "graph/build/program.h"
#include "graph/predict/evaluate.h"

/* Times are scaled: a rank passes a microbatch forward in a millisecond on
 * average; with placement policy, a stage does.  W has a piece for each layer,
 * up to a limit. */
struct mtlm_work {
    struct mtlm_evaluate pipeline;
    struct mtlm_window *window; /* pipeline.window: the program's */
    double *times;              /* pipeline.forward, backward and weight */
    double flops_per_s;         /* FLOPs that a second of these times is */
};

/* Borrows config's layout and schedule.  The caller frees the rest with
 * mtlm_work_free(). */
struct mtlm_work mtlm_work_create(const struct mtlm_program_config *config);
void mtlm_work_free(struct mtlm_work *work);

#endif /* MTLM_GRAPH_WORK_H */
