#ifndef MTLM_GRAPH_WORK_H
#define MTLM_GRAPH_WORK_H

/* The work of a program as a pipeline to evaluate, with the times of the
 * program's configuration.  Without such times, FLOPs become times and messages
 * take no time. */

#include "graph/build/program.h"
#include "graph/predict/evaluate.h"

/* Times from FLOPs are scaled: F of a microbatch takes 1 ms per rank on
 * average.  With placement policy, F takes 1 ms per stage.  W has as many
 * pieces as its longest task fits into W, but at most 8; F and B have as many
 * steps. */
struct mtlm_work {
    struct mtlm_evaluate pipeline; /* its order: of a config in mode hint */
    struct mtlm_window *window;    /* pipeline.window: of the program */
    struct mtlm_stage_times times; /* pipeline.forward and so on */
    double flops_per_s; /* FLOPs per second of these times; 0: times given */
};

/* Returns the work of config.  Borrows config's layout and schedule.  The
 * caller frees the result with mtlm_work_free(). */
struct mtlm_work mtlm_work_create(const struct mtlm_program_config *config);

/* Evaluates what ranks make of the order of config, if there is one; else of
 * windows and priorities.  The caller frees the result with
 * mtlm_evaluation_free(). */
struct mtlm_evaluation mtlm_work_evaluate(
    const struct mtlm_work *work, const struct mtlm_program_config *config);

/* Returns the makespan of mtlm_work_evaluate() in seconds. */
double mtlm_work_seconds(const struct mtlm_work *work,
                         const struct mtlm_program_config *config);

/* Frees the times and the window. */
void mtlm_work_free(struct mtlm_work *work);

#endif /* MTLM_GRAPH_WORK_H */
