#ifndef MTLM_LEARNING_RATE_H
#define MTLM_LEARNING_RATE_H

#include "codelets/op.h"

/* Learning rate and weight decay of the step that is taken when the steps
 * before it have seen n samples: what Megatron-LM core_v0.12.0 makes of the
 * same options.  With warm-up W, decay D, from r0 over r to r1:
 *
 *   n <= W (and W > 0)   r0 + (r - r0) n / W
 *   n > D                r1, unless the style is constant
 *   between them         r1 + (r - r1) c(u), u = (n - W) / (D - W)
 *     linear  c = 1 - u      cosine  c = (1 + cos pi u) / 2      constant  r
 *     inverse square root    max(r1, r sqrt(W / n)), W and n at least 1
 *     WSD  c = 1 until D - E, then with u = (n - D + E) / E as above, or
 *          2 (1/2)^u - 1 (exponential)
 *
 * so that the very first step has r0 = 0 where there is a warm-up.  Weight
 * decay goes from w0 to w1 in weight_decay_samples by u or
 * (1 - cos pi u) / 2, or is w1 (constant). */
double mtlm_learning_rate(const struct mtlm_schedule *schedule, double n);
double mtlm_weight_decay(const struct mtlm_schedule *schedule, double n);

#endif /* MTLM_LEARNING_RATE_H */
