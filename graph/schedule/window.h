#ifndef MTLM_GRAPH_WINDOW_H
#define MTLM_GRAPH_WINDOW_H

#include <stdbool.h>

#include "graph/layout.h"

/* The schedules that windows, priorities and a few edges bring about
 * (--schedule). */
enum mtlm_pipeline {
    MTLM_PIPELINE_WINDOW, /* B and W apart, windows by alpha or memory */
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
 * Re-use of a slot is a write-after-read dependency, which bounds memory and
 * makes the published orders arise. */
struct mtlm_window {
    int w; /* slots of tensors last used by B */
    int q; /* more slots for tensors last used by W */
    int g; /* slots of tensors that B writes and W uses last */
};

/* What windows follow from.  With placement policy the busiest rank is the
 * only one.
 *
 *   T   = work per microbatch of the busiest rank / its workers
 *   L_k = sum over stages j >= k of tF(j) + tB(j) + 2 hop: the shortest time
 *         for which stage k must keep a microbatch's activations
 *   w_k = max(workers, ceil(alpha L_k / T))          (Little's law)
 *
 * alpha = 1.5 gives w_k = p - k on equal stages, 1F1B's window (its memory
 * bound is that of arXiv 2104.04473, 2.2.1).  Given a memory, alpha is the
 * largest with which every rank's slots of w_k fit into it.  What a rank then
 * has left, of that memory or of what the fullest rank takes, is dealt out as
 * q_k, one slot at a time to each of its virtual stages in turn, the deepest
 * first, without a given memory up to the slots of the largest window; on one
 * chunk per rank that is ZB-H1 (arXiv 2401.10241).  Such a slot takes only what
 * W needs: weight_share of a microbatch's activations.
 *
 * g_k = q_k + 1: a B need not wait for earlier W while there is room for its
 * inputs; with placement V, which leaves no q_k, p / 2.
 *
 *   GPIPE        w_k = m
 *   1F1B         alpha = 1.5, no q_k
 *   INTERLEAVED  what Megatron-LM's order has in flight (arXiv 2104.04473), and
 *                one more but on the first rank
 *   ZB_H1        alpha = 1.5, and q_k (k on equal stages)
 *   ZB_H2        twice the w_k of ZB_H1, less one; q_k (2k on equal stages)
 *   ZB_V         the memory of p microbatches on the fullest rank
 *   WINDOW       what is given; where nothing is, alpha; where that is 0, the
 *                memory */
struct mtlm_window_model {
    const struct mtlm_layout *layout; /* pp, virtual_stages, placement, workers;
                                       * not the rank */
    enum mtlm_pipeline pipeline;
    int64_t microbatches; /* m: more slots than these are of no use */
    /* Of each virtual stage: times in any unit, and the activations of a
     * microbatch in any unit.  [stages] */
    const double *forward, *backward, *weight, *memory;
    double weight_share; /* of the memory: until W ends; 0 is as good as 1 */
    double hop;          /* time between two stages on different ranks */
    double alpha;        /* WINDOW */
    double most_memory;  /* WINDOW: of a rank; 0: alpha decides */
    const struct mtlm_window *given; /* WINDOW: w and q [stages], or NULL */
};

/* Sets window[stages].  Returns the alpha that was used; 0 where none was.
 * Where the memory does not do, every window is the least one. */
double mtlm_windows(const struct mtlm_window_model *model,
                    struct mtlm_window *window);

/* Memory of the fullest rank with the least windows that there can be. */
double mtlm_windows_least_memory(const struct mtlm_window_model *model);

/* Memory of all slots, w_k + q_k, on the fullest rank. */
double mtlm_windows_memory(const struct mtlm_window_model *model,
                           const struct mtlm_window *window);

#endif /* MTLM_GRAPH_WINDOW_H */
