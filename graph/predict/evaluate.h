#ifndef MTLM_GRAPH_EVALUATE_H
#define MTLM_GRAPH_EVALUATE_H

/* Evaluation of a schedule on a pipeline of virtual stages: list scheduling
 * (graph/predict/simulator.h) with the edges, windows and priorities of a
 * program.  On each virtual stage, a microbatch has tasks for F, B and W.  The
 * tasks of an F or a B run one after another: a ready pass of higher priority
 * comes between them, as between the nodes of a program.  There are no tensors
 * and no collectives; graph/predict/evaluate_program.h has both. */

#include <stdint.h>

#include "graph/order/order.h"
#include "graph/predict/noise.h"
#include "graph/schedule/schedule.h"

/* Everything is borrowed. */
struct mtlm_evaluate {
    const struct mtlm_layout *layout; /* pp, virtual_stages, placement and
                                       * workers count */
    const struct mtlm_schedule *schedule;
    int microbatches;
    /* [stages] seconds of F, B (input gradients) and W (weight gradients) of a
     * microbatch on one worker. */
    const double *forward, *backward, *weight;
    double hop;                       /* seconds of a message between two
                                       * ranks */
    double latency;                   /* seconds that a message takes more, at
                                       * most: a share of its own for each
                                       * (mtlm_late_share()), half on average */
    int pieces;                       /* tasks of W per stage and microbatch; >=
                                       * 1 */
    int steps;                        /* tasks of an F and of a B; 0: one */
    const struct mtlm_window *window; /* [stages] */
    /* Boxes with W in one piece.  A place in the order is a priority, instead
     * of the schedule's.  NULL: none. */
    const struct mtlm_box_order *order;
    /* With an order: the stages of a rank share slots, which the order deals
     * out (graph/order/order_slots.h).  The window is ignored. */
    bool pooled;
    /* The hold rule of mtlm/policy.h: a free worker waits for a task of higher
     * priority, for this share of the ready task's duration at most.  B is
     * never left, except for an order.  0: no worker waits. */
    double hold;
    /* Draws of the first replica's passes.  Bounds and bubbles stay those of
     * the times above.  NULL: no noise. */
    const struct mtlm_noise_draws *noise;
};

/* A task of the schedule. */
struct mtlm_evaluated_task {
    int rank; /* pp_rank */
    int stage, microbatch;
    enum mtlm_phase phase;
    int worker; /* of an order: the lane; else 0, no worker has a number */
    int64_t start_ns, end_ns;
};

struct mtlm_evaluation {
    double makespan_s; /* from the first start to the last end of all ranks */
    double span_s;     /* from first start to last end on the rank that takes
                        * longest */
    /* Lower bound of every schedule's makespan, for a fused schedule of every
     * fused one: the largest of these sums.  For the pipeline: the longest
     * path.  For each rank: its work, the path before its first task, and the
     * path after its last task. */
    double least_s;
    double busiest_s;  /* work of the busiest rank per microbatch and worker */
    double bubble;     /* share of the makespan in which that rank idles */
    double all_bubble; /* the mean of that share over all ranks */
    struct mtlm_evaluated_task *task; /* [n_tasks] in order of starts */
    int n_tasks;
};

/* Simulates the pipeline.  The caller frees the result with
 * mtlm_evaluation_free(). */
struct mtlm_evaluation mtlm_evaluate(const struct mtlm_evaluate *pipeline);

/* Returns the makespan of mtlm_evaluate() in seconds. */
double mtlm_evaluate_seconds(const struct mtlm_evaluate *pipeline);

/* Walks an order of the pipeline instead: a lane of a rank runs one box at a
 * time, each W in one piece, in the time of one worker.  Windows and priorities
 * do not count.  The caller frees the result with mtlm_evaluation_free(). */
struct mtlm_evaluation mtlm_evaluate_order(const struct mtlm_evaluate *pipeline,
                                           const struct mtlm_box_order *order);

/* Returns the boxes of the pipeline.  memory: as in struct mtlm_boxes,
 * borrowed; NULL if the caller asks for none. */
struct mtlm_boxes mtlm_evaluate_boxes(const struct mtlm_evaluate *pipeline,
                                      const double *memory);

/* Returns the seconds of the shortest F. */
double mtlm_evaluate_shortest_forward(const struct mtlm_evaluate *pipeline);

/* Frees the tasks of the evaluation. */
void mtlm_evaluation_free(struct mtlm_evaluation *evaluation);

#endif /* MTLM_GRAPH_EVALUATE_H */
