#ifndef MTLM_GRAPH_PLAN_H
#define MTLM_GRAPH_PLAN_H

#include "graph/program.h"

/* What a program will take, known before anything starts. */
struct mtlm_plan {
    double weight_bytes, gradient_bytes, moment_bytes;
    double activation_bytes; /* all slots of all rings */
    double total_bytes;      /* with the tasks of two iterations */
    int64_t tasks;           /* per iteration, messages included */
    double flops;            /* of this rank per iteration */
};

struct mtlm_plan mtlm_plan(const struct mtlm_program *program);

/* Refuses (MTLM_EXIT_RESOURCE, need and have) a plan that does not fit into
 * available bytes shared by ranks processes. */
int mtlm_plan_check(const struct mtlm_plan *plan, double available, int ranks,
                    struct mtlm_error *err);

/* A first estimate from the sizes alone, before the graph is built: refuses
 * sizes whose graph itself would not fit. */
int mtlm_plan_check_model(const struct mtlm_model *model,
                          const struct mtlm_layout *layout, int64_t micro_batch,
                          double available, int ranks, struct mtlm_error *err);

#endif /* MTLM_GRAPH_PLAN_H */
