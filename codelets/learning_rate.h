#ifndef MTLM_LEARNING_RATE_H
#define MTLM_LEARNING_RATE_H

/* Learning rate and weight decay as functions of n (MTLM_CONTROL_CLOCK).  n
 * counts the samples of the optimizer's steps so far. */

#include <math.h>

#include "codelets/settings.h"
#include "runtime/base/host_device.h"

#define MTLM_PI 3.14159265358979323846

/* Returns the factor c of the WSD style (warm-up, stable, decay) after n
 * samples.  c falls from 1 to 0 during the decay. */
static inline MTLM_HOST_DEVICE double mtlm_wsd_left(
    const struct mtlm_lr_schedule *schedule, double n)
{
    const double begin = schedule->decay_samples - schedule->wsd_samples;
    const double done = (n - begin) / schedule->wsd_samples;

    if (n <= begin)
        return 1;
    switch (schedule->wsd_style) {
    case MTLM_WSD_LINEAR:
        return 1 - done;
    case MTLM_WSD_COSINE:
        return 0.5 * (cos(MTLM_PI * done) + 1);
    default:
        return 2 * pow(0.5, done) - 1;
    }
}

/* Returns the learning rate of the step after n samples, as Megatron-LM
 * core_v0.12.0 with the same options.  The first matching line holds.
 *
 *   W  warmup_samples    D  decay_samples    E   wsd_samples
 *   r  lr                r0 warmup_init      r1  min_lr
 *
 *   n <= W (and W > 0)   r0 + (r - r0) n / W
 *   constant             r
 *   n > D                r1
 *   linear, cosine       r1 + (r - r1) c(u), u = (n - W) / (D - W)
 *     linear  c = 1 - u      cosine  c = (1 + cos pi u) / 2
 *   inverse square root  max(r1, r sqrt(W / n)), W and n at least 1
 *   WSD                  r until D - E, then
 *                        r1 + (r - r1) c(u), u = (n - D + E) / E
 *     c of linear and cosine as above; exponential  c = 2 (1/2)^u - 1
 *
 * The first step of a warm-up has n = 0: its rate is r0. */
static inline MTLM_HOST_DEVICE double mtlm_learning_rate(
    const struct mtlm_lr_schedule *schedule, double n)
{
    const double lr = schedule->lr, least = schedule->min_lr;
    const double warmup = schedule->warmup_samples;
    const double done = (n - warmup) / (schedule->decay_samples - warmup);

    if (warmup > 0 && n <= warmup)
        return schedule->warmup_init
               + (lr - schedule->warmup_init) * (n / warmup);
    if (schedule->style == MTLM_LR_CONSTANT)
        return lr;
    if (n > schedule->decay_samples)
        return least;
    switch (schedule->style) {
    case MTLM_LR_LINEAR:
        return least + (lr - least) * (1 - done);
    case MTLM_LR_COSINE:
        return least + (lr - least) * (0.5 * (cos(MTLM_PI * done) + 1));
    case MTLM_LR_INVERSE_SQUARE_ROOT:
        return fmax(least, lr * sqrt(fmax(warmup, 1.0) / fmax(n, 1.0)));
    default:
        return least + (lr - least) * mtlm_wsd_left(schedule, n);
    }
}

/* Returns the weight decay of the step after n samples.  S:
 * weight_decay_samples, d0: weight_decay, d1: end_weight_decay.  The first
 * matching line holds.
 *
 *   constant, or n > S   d1
 *   linear               d0 + (d1 - d0) u, u = n / S
 *   cosine               d0 + (d1 - d0) (1 - cos pi u) / 2 */
static inline MTLM_HOST_DEVICE double mtlm_weight_decay(
    const struct mtlm_lr_schedule *schedule, double n)
{
    const double first = schedule->weight_decay;
    const double last = schedule->end_weight_decay;
    const double done = n / schedule->weight_decay_samples;

    if (schedule->weight_decay_style == MTLM_WEIGHT_DECAY_CONSTANT
        || n > schedule->weight_decay_samples)
        return last;
    if (schedule->weight_decay_style == MTLM_WEIGHT_DECAY_LINEAR)
        return first + (last - first) * done;
    return first + (last - first) * (0.5 * (1 - cos(MTLM_PI * done)));
}

#endif /* MTLM_LEARNING_RATE_H */
