#ifndef MTLM_GRAPH_VIRTUAL_ORDER_H
#define MTLM_GRAPH_VIRTUAL_ORDER_H

/* The tasks of an evaluation in an order of submission: each task behind its
 * predecessors, else by its position in the program of its rank. */

#include "graph/build/dependencies.h"
#include "graph/predict/evaluate_program.h"

/* "Node" means an index in the node[] of the evaluation. */
struct mtlm_virtual_order {
    const struct mtlm_execution *run; /* borrowed */
    int programs;
    struct mtlm_dependencies **dependencies; /* [programs] */
    int *node;       /* [run->n] nodes by program, in program order */
    int *first;      /* [programs + 1] of each program in node */
    int *position;   /* [run->n] of a node in its program */
    int *first_edge; /* [run->n + 1] in edge, by place in node[] */
    int *edge;       /* predecessors of a node: nodes */
    int tasks;
    int *first_member; /* [tasks + 1] in member */
    int *member;       /* [run->n] nodes of each task, by program */
    int *task;         /* [tasks] tasks of the evaluation, in order */
};

/* Returns the order of an evaluation of job.  The caller frees the order with
 * mtlm_virtual_order_free(). */
struct mtlm_virtual_order mtlm_virtual_order_create(
    const struct mtlm_evaluate_program *job, const struct mtlm_execution *run);

/* Frees the arrays. */
void mtlm_virtual_order_free(struct mtlm_virtual_order *order);

/* Returns the predecessors of a node and sets *n to their number. */
const int *mtlm_virtual_order_edges(const struct mtlm_virtual_order *order,
                                    int node, int *n);

#endif /* MTLM_GRAPH_VIRTUAL_ORDER_H */
