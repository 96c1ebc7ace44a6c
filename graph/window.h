#ifndef MTLM_GRAPH_WINDOW_H
#define MTLM_GRAPH_WINDOW_H

#include <stdbool.h>

#include "graph/layout.h"

struct mtlm_program;

/* The schedules that windows, priorities and a few edges bring about
 * (--schedule). */
enum mtlm_pipeline {
    MTLM_PIPELINE_WINDOW, /* B and W apart, windows by alpha */
    MTLM_PIPELINE_GPIPE,
    MTLM_PIPELINE_1F1B,
    MTLM_PIPELINE_INTERLEAVED,
    MTLM_PIPELINE_ZB_H1,
    MTLM_PIPELINE_ZB_H2,
    MTLM_PIPELINE_ZB_V,
};

/* Whether the published schedule computes B and W as one: every W of a
 * microbatch precedes the send of its B. */
bool mtlm_pipeline_fused(enum mtlm_pipeline pipeline);

/* How many microbatches a virtual stage may hold: its activation window.
 *
 *   T   = work per microbatch of the busiest rank / its workers
 *   L_k = sum over stages j >= k of tF(j) + tB(j): the shortest time for
 *         which stage k must keep a microbatch's activations
 *   w_k = max(workers, ceil(alpha L_k / T))          (Little's law)
 *
 * Re-use of a slot is a write-after-read dependency, which bounds memory and
 * makes the 1F1B order arise; alpha = 1.5 gives w_k = p - k on equal stages,
 * 1F1B's window (its memory bound is that of arXiv 2104.04473, 2.2.1).
 * Tensors that weight gradients still read after B get q_k more slots, which
 * fill the rank up to the first stage's memory: on one chunk per rank
 * q_k = w_0 - w_k, the memory of ZB-H1 (arXiv 2401.10241).
 *
 * Times are counted in layers here, with tF = tB = tW: the windows then do
 * not depend on a machine. */
struct mtlm_window {
    int w; /* slots of tensors last used by B */
    int q; /* more slots for tensors last used by W */
};

/* The window of virtual stage k for m microbatches per iteration (more slots
 * than these are of no use). */
struct mtlm_window mtlm_window(const struct mtlm_layout *layout,
                               int64_t num_layers, int64_t m, double alpha,
                               int stage);

/* Sets the ring length of every activation of the program. */
void mtlm_window_apply(struct mtlm_program *program);

#endif /* MTLM_GRAPH_WINDOW_H */
