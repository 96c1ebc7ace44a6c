#ifndef MTLM_GRAPH_PLAN_H
#define MTLM_GRAPH_PLAN_H

#include "graph/program.h"

/* What a program will take, known before anything starts. */
struct mtlm_plan {
    double weight_bytes, gradient_bytes, moment_bytes;
    double activation_bytes;           /* all slots of all rings */
    double total_bytes;                /* with the tasks of two iterations */
    int64_t tasks;                     /* per iteration, messages included */
    double flops;                      /* of this rank per iteration */
    const struct mtlm_tensor *largest; /* most elements */
    const struct mtlm_node *longest;   /* message of most elements, or NULL */
};

struct mtlm_plan mtlm_plan(const struct mtlm_program *program);

/* Refuses (MTLM_EXIT_RESOURCE, need and have) a plan whose host does not have
 * the memory: on_host bytes are what all ranks of this machine need together.
 * Refuses tensors and messages larger than StarPU and MPI can count. */
int mtlm_plan_check(const struct mtlm_plan *plan, double on_host,
                    double available, struct mtlm_error *err);

/* A lower bound from the sizes alone, before the graph is built: refuses what
 * cannot fit, the graph itself included.  ranks of this machine share
 * available bytes. */
int mtlm_plan_check_model(const struct mtlm_program_config *config,
                          double available, int ranks, struct mtlm_error *err);

#endif /* MTLM_GRAPH_PLAN_H */
