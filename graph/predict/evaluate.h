#ifndef MTLM_GRAPH_EVALUATE_H
#define MTLM_GRAPH_EVALUATE_H

#include <stdint.h>

#include "graph/schedule/window.h"
#include "runtime/machine/recorder.h"

/* What a schedule makes of a pipeline of virtual stages whose forward passes
 * F, input gradients B and weight gradients W last known times: list
 * scheduling (graph/predict/simulator.h) of the tasks with the edges, windows
 * and priorities that a program has.  F and B of a microbatch on a virtual
 * stage are one task each, W is cut into pieces.  No tensors, no collectives:
 * graph/predict/evaluate_program.h has those. */
struct mtlm_evaluate {
    const struct mtlm_layout *layout; /* pp, virtual_stages, placement,
                                       * workers; not the rank */
    enum mtlm_pipeline pipeline;
    int microbatches;
    /* Seconds on one worker, and what a microbatch's activations take in any
     * unit.  [stages] */
    const double *forward, *backward, *weight, *memory;
    double hop;          /* seconds of a message between ranks */
    int pieces;          /* of W; >= 1 */
    double weight_share; /* of the activations, is needed until W ends */
    const struct mtlm_window *window; /* [stages] */
    /* Instead of windows: the memory of each rank [pp], which an F takes and
     * W and B give back, admitted so that the oldest microbatches can always
     * end (banker's algorithm).  NULL: none. */
    const double *cap;
    bool backward_first; /* B before F, which suits a cap */
};

/* A task of the schedule. */
struct mtlm_evaluated_task {
    int rank; /* pp_rank */
    int stage, microbatch;
    enum mtlm_phase phase;
    int64_t start_ns, end_ns;
};

struct mtlm_evaluation {
    double makespan_s; /* first start to last end over all ranks */
    double span_s;     /* the longest of any rank's first start to last end */
    /* No schedule can be shorter: the longest path, and what the work of any
     * rank, the path before it and the path behind it add up to. */
    double least_s;
    double bubble;      /* share of the makespan that the busiest rank idles */
    double peak_memory; /* of the fullest rank */
    struct mtlm_window *peak; /* [stages] microbatches between F and B (w), and
                               * more until the end of W (q) */
    double *rank_memory;      /* [pp] the peak of each */
    struct mtlm_evaluated_task *task; /* [n_tasks] in order of starts */
    int n_tasks;
};

/* The caller frees the result.  Every cap lets one microbatch through. */
struct mtlm_evaluation mtlm_evaluate(const struct mtlm_evaluate *pipeline);
void mtlm_evaluation_free(struct mtlm_evaluation *evaluation);

#endif /* MTLM_GRAPH_EVALUATE_H */
