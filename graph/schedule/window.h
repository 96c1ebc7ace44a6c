#ifndef MTLM_GRAPH_WINDOW_H
#define MTLM_GRAPH_WINDOW_H

/* Activation windows: how many microbatches a virtual stage may hold.  Reuse of
 * a slot is a write-after-read dependency.  These dependencies bound memory and
 * produce the published orders.  The formulas are here;
 * graph/schedule/schedule.c names the formula of each schedule. */

#include "graph/layout.h"

/* The slots of a virtual stage.  A slot holds one microbatch. */
struct mtlm_window {
    int w; /* slots of tensors that B reads last */
    int q; /* additional slots of tensors that W reads last */
    int g; /* slots of tensors that B writes and W reads last */
};

/* The input of the formulas.  p pipeline ranks, m microbatches per iteration,
 * virtual stage k from 0.  With placement policy, the busiest rank is the only
 * rank.
 *
 *   T   = work per microbatch of the busiest rank / its workers
 *   L_k = sum over stages j >= k of tF(j) + tB(j) + 2 hop: the shortest time
 *         for which stage k keeps the activations of a microbatch
 *   w_k = max(workers, ceil(alpha L_k / T))          (Little's law)
 *
 * alpha = 1.5 gives w_k = p - k on equal stages: the window of 1F1B (memory
 * bound of arXiv 2104.04473, 2.2.1).
 *
 * q_k is the number of slots that fit into the memory that all w_k of the rank
 * leave.  The virtual stages of a rank get one slot each in turn, the deepest
 * stage first.  Equal stages, one per rank, give ZB-H1 (arXiv 2401.10241).  A
 * slot of q_k takes the activations that W needs; with the slot of g_k that
 * comes with it, weight_share of a microbatch's activations.
 *
 * g_k = max(q_k + 1, least): B waits for an earlier W only if B's inputs have
 * no slot.  least = max(2, workers).  Placement V may leave no slots for q_k;
 * there, least is at least min(p / 2, w_k + q_k).  The least slots take no
 * memory here.
 *
 * The busiest ranks have no idle time for W.  There, more slots of g_k let W
 * wait until the end of the iteration, where nothing else is left.  These slots
 * get what w_k and q_k leave of the memory. */
struct mtlm_window_model {
    const struct mtlm_layout *layout; /* borrowed; pp, virtual_stages,
                                       * placement and workers count */
    int64_t microbatches;             /* m per iteration; maximum of w_k +
                                       * q_k */
    /* [stages] borrowed.  Times of a microbatch in any unit; memory of its
     * activations in any unit. */
    const double *forward, *backward, *weight, *memory;
    double weight_share; /* share of memory[] in use until W ends; 0 means 1 */
    /* Share of memory[] that a slot of g takes, part of weight_share.  0: slots
     * of g take no memory. */
    double gradient_share;
    int more_gradients; /* slots of g that the stages of the busiest ranks get,
                         * up to w + q, if memory is left */
    double hop;         /* time of a message between ranks, in the same unit */
    /* Read by schedules whose windows come from options or from a search. */
    double alpha;
    double most_memory; /* memory limit of a rank, for q_k; with alpha 0, for
                         * w_k, too.  0: no limit */
    const struct mtlm_window
        *given; /* [stages] w and q, borrowed; NULL: none */
};

/* Returns `slots` within the limits: at most m, but at least one per worker. */
int mtlm_window_clamp(const struct mtlm_window_model *model, double slots);

/* The functions below set window[stages]. */

/* Sets w_k from alpha, and q_k = 0. */
void mtlm_window_set_alpha(const struct mtlm_window_model *model, double alpha,
                           struct mtlm_window *window);

/* Sets w_k from the largest alpha whose w_k fit into the memory `most` on every
 * rank, and q_k = 0.  Returns this alpha.  If nothing fits, sets the smallest
 * windows and returns 0. */
double mtlm_window_set_memory(const struct mtlm_window_model *model,
                              double most, struct mtlm_window *window);

/* Sets w_k and q_k to model->given, clamped. */
void mtlm_window_set_given(const struct mtlm_window_model *model,
                           struct mtlm_window *window);

/* Sets w_k from the microbatches that Megatron-LM's interleaved order has in
 * flight (arXiv 2104.04473, 2.2.2).  Every rank but the first gets one more,
 * and each worker gets as many.  Sets q_k = 0. */
void mtlm_window_set_interleaved(const struct mtlm_window_model *model,
                                 struct mtlm_window *window);

/* Adds q_k: fills the memory `most` on each rank; w_k + q_k <= m. */
void mtlm_window_fill(const struct mtlm_window_model *model, double most,
                      struct mtlm_window *window);

/* Adds q_k: fills each rank up to the memory of the fullest rank; w_k + q_k <=
 * the largest w_k. */
void mtlm_window_fill_evenly(const struct mtlm_window_model *model,
                             struct mtlm_window *window);

/* Sets g_k from w_k and q_k. */
void mtlm_window_add_gradients(const struct mtlm_window_model *model,
                               struct mtlm_window *window);

/* Returns the memory of all slots of w_k and q_k on a rank. */
double mtlm_window_rank_memory(const struct mtlm_window_model *model,
                               const struct mtlm_window *window, int pp_rank);

/* Returns the memory of all slots of w_k and q_k on the fullest rank. */
double mtlm_window_memory(const struct mtlm_window_model *model,
                          const struct mtlm_window *window);

/* Returns the memory of the smallest windows on the fullest rank. */
double mtlm_window_least_memory(const struct mtlm_window_model *model);

/* Returns the memory of one microbatch on all stages of the fullest rank. */
double mtlm_window_microbatch_memory(const struct mtlm_window_model *model);

#endif /* MTLM_GRAPH_WINDOW_H */
