#ifndef MTLM_GRAPH_WINDOW_H
#define MTLM_GRAPH_WINDOW_H

/* Activation windows: how many microbatches a virtual stage may hold.  Re-use
 * of a slot is a write-after-read dependency; it bounds memory, and makes the
 * published orders arise.  Here are the formulas that schedules share;
 * graph/schedule/schedule.c says which schedule uses which. */

#include "graph/layout.h"

struct mtlm_window {
    int w; /* slots of tensors that B reads last */
    int q; /* additional slots of tensors that W reads last */
    int g; /* slots of tensors that B writes and W reads last */
};

/* The input of the formulas.  With placement policy, the busiest rank is the
 * only rank.
 *
 *   T   = work per microbatch of the busiest rank / its workers
 *   L_k = sum over stages j >= k of tF(j) + tB(j) + 2 hop: the shortest time
 *         for which stage k keeps the activations of a microbatch
 *   w_k = max(workers, ceil(alpha L_k / T))          (Little's law)
 *
 * alpha = 1.5 gives w_k = p - k on equal stages: the window of 1F1B (memory
 * bound of arXiv 2104.04473, 2.2.1).
 *
 * q_k are the slots that fit into the memory that w_k leave.  One slot at a
 * time goes to each virtual stage of a rank in turn, the deepest stage first.
 * With equal stages, one per rank, that gives ZB-H1 (arXiv 2401.10241).  A slot
 * of q_k takes what W needs: weight_share of a microbatch's activations.
 *
 * g_k = q_k + 1: a B does not wait for an earlier W while its inputs have
 * room.  Placement V leaves no q_k; there, g_k = p / 2. */
struct mtlm_window_model {
    const struct mtlm_layout *layout; /* borrowed; pp, virtual_stages,
                                       * placement and workers count */
    int64_t microbatches;             /* m per iteration: the most slots */
    /* [stages] borrowed.  Times of a microbatch in any unit; memory of its
     * activations in any unit. */
    const double *forward, *backward, *weight, *memory;
    double weight_share; /* of the memory, until W ends; 0 means 1 */
    double hop;          /* time of a message between ranks, in the same unit */
    /* Read by schedules whose windows the options give. */
    double alpha;
    double most_memory; /* of a rank; 0: alpha decides */
    const struct mtlm_window
        *given; /* [stages] w and q, borrowed; NULL: none */
};

/* Returns `slots` within the limits: at most m, at least one per worker. */
int mtlm_window_clamp(const struct mtlm_window_model *model, double slots);

/* The functions below set window[stages]. */

/* Sets w_k from alpha, and q_k = 0. */
void mtlm_window_set_alpha(const struct mtlm_window_model *model, double alpha,
                           struct mtlm_window *window);

/* Sets w_k from the largest alpha whose w_k fit into `most` on every rank, and
 * q_k = 0.  Returns alpha; 0, with the least windows, where nothing fits. */
double mtlm_window_set_memory(const struct mtlm_window_model *model,
                              double most, struct mtlm_window *window);

/* Sets w_k and q_k to model->given, clamped. */
void mtlm_window_set_given(const struct mtlm_window_model *model,
                           struct mtlm_window *window);

/* Sets w_k to the microbatches that Megatron-LM's interleaved order has in
 * flight (arXiv 2104.04473, 2.2.2), one more on every rank but the first. */
void mtlm_window_set_interleaved(const struct mtlm_window_model *model,
                                 struct mtlm_window *window);

/* Adds q_k from what w_k leave of `most` on each rank; w_k + q_k <= m. */
void mtlm_window_fill(const struct mtlm_window_model *model, double most,
                      struct mtlm_window *window);

/* Adds q_k from what w_k leave of the memory of the fullest rank; w_k + q_k <=
 * the largest w_k. */
void mtlm_window_fill_evenly(const struct mtlm_window_model *model,
                             struct mtlm_window *window);

/* Sets g_k. */
void mtlm_window_add_gradients(const struct mtlm_window_model *model,
                               struct mtlm_window *window);

/* Returns the memory of all slots, w_k + q_k, on the fullest rank. */
double mtlm_window_memory(const struct mtlm_window_model *model,
                          const struct mtlm_window *window);

/* Returns the memory of the least windows on the fullest rank. */
double mtlm_window_least_memory(const struct mtlm_window_model *model);

/* Returns the memory of one microbatch on all stages of the fullest rank. */
double mtlm_window_microbatch_memory(const struct mtlm_window_model *model);

#endif /* MTLM_GRAPH_WINDOW_H */
