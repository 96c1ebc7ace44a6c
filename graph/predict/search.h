#ifndef MTLM_GRAPH_SEARCH_H
#define MTLM_GRAPH_SEARCH_H

#include "graph/build/program.h"
#include "graph/predict/evaluate.h"

/* The windows that cost least within a memory, found by evaluation: a larger
 * alpha keeps more microbatches under way, a smaller one leaves more room for
 * weight gradients that wait (graph/schedule/window.h). */
struct mtlm_search {
    struct mtlm_evaluate pipeline; /* its window is not read */
    /* What the windows follow from; of kind WINDOW, without alpha, but with
     * most_memory, which is the memory. */
    struct mtlm_window_model windows;
    int tries;    /* values of alpha, from half the largest one on */
    bool by_span; /* the longest time of one rank counts, as in the
                   * zero-bubble papers, not that of all together */
};

/* Sets window[stages] and *alpha; returns the seconds that count, INFINITY
 * where the memory does not do. */
double mtlm_search(const struct mtlm_search *search, struct mtlm_window *window,
                   double *alpha);

/* A program's pipeline with FLOPs as times, so that a rank, with placement
 * policy a stage, takes a millisecond on average to pass a microbatch forward,
 * and messages that take none; W is cut into a piece for each layer, memory
 * counts layers.  Borrows config's layout; the caller frees the rest with
 * mtlm_work_free(). */
struct mtlm_work {
    struct mtlm_evaluate pipeline;
    struct mtlm_window *window; /* pipeline.window, the program's */
    double *times;              /* pipeline.forward and so on */
    double flops_per_s;         /* that a second of these times stands for */
};

struct mtlm_work mtlm_work_create(const struct mtlm_program_config *config);
void mtlm_work_free(struct mtlm_work *work);

/* --schedule auto: of placement loop with one and two virtual stages a rank
 * and placement V, and of all windows, what costs least with config.act_mem
 * bytes or, where that is 0, with the activations of as many microbatches as
 * 1F1B keeps.  Virtual stages that are given (chunks > 0) stay, and their
 * placement.  Messages cost nothing here: two stages a rank must gain a
 * hundredth for theirs.  Of large pipelines only the first microbatches are
 * evaluated.  Sets the layout's virtual stages and placement, pipeline, window
 * and act_mem. */
void mtlm_search_schedule(struct mtlm_program_config *config, int chunks);

#endif /* MTLM_GRAPH_SEARCH_H */
