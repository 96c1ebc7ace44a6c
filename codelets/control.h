#ifndef MTLM_CONTROL_H
#define MTLM_CONTROL_H

/* Updates of the control tensor (enum mtlm_control_slot): learning rate, loss
 * scale, clipping, counters.  CPU and CUDA kernels share the functions. */

#include <math.h>

#include "codelets/control_slots.h"
#include "codelets/learning_rate.h"
#include "codelets/op.h"

/* Sets the control tensor [MTLM_CONTROL_COUNT] before the first iteration. */
static inline MTLM_HOST_DEVICE void mtlm_control_begin(
    const union mtlm_attr *attr, double *control)
{
    const struct mtlm_loss_scale *scale = &attr->control.scale;

    for (int i = 0; i < MTLM_CONTROL_COUNT; i++)
        control[i] = 0;
    control[MTLM_CONTROL_LOSS_SCALE] = scale->initial > 0 ? scale->initial : 1;
    control[MTLM_CONTROL_HYSTERESIS] = scale->hysteresis;
}

/* Updates a dynamic loss scale after an iteration (Megatron-LM's
 * DynamicGradScaler).  Leaves a static scale as it is. */
static inline MTLM_HOST_DEVICE void mtlm_loss_scale_advance(
    const struct mtlm_loss_scale *scale, bool overflow, double *control)
{
    const double now = control[MTLM_CONTROL_LOSS_SCALE];

    if (!scale->dynamic)
        return;
    if (overflow) {
        control[MTLM_CONTROL_GROWTH] = 0;
        control[MTLM_CONTROL_HYSTERESIS]--;
        if (control[MTLM_CONTROL_HYSTERESIS] <= 0)
            control[MTLM_CONTROL_LOSS_SCALE] = fmax(now / 2, scale->min);
    } else if (++control[MTLM_CONTROL_GROWTH] >= (double) scale->window) {
        control[MTLM_CONTROL_GROWTH] = 0;
        control[MTLM_CONTROL_HYSTERESIS] = scale->hysteresis;
        control[MTLM_CONTROL_LOSS_SCALE] = 2 * now;
    }
}

/* Advances control [MTLM_CONTROL_COUNT] by one iteration, then copies control
 * to report.
 *
 * square: squared norm of the scaled gradients.  extra [MTLM_STATUS_EXTRA]: the
 * last slots of the status vector.  samples: global batch of this iteration.
 *
 * The optimizer steps if the losses and the gradient norm are finite.  With a
 * dynamic scale above its minimum, all else is an overflow: fp16 activations
 * overflow, too.  With a static scale other than 1, finite losses with a norm
 * that is not finite are an overflow.
 *
 * MTLM_CONTROL_NAN counts the other iterations without finite values.  With
 * nan_is_final the optimizer never steps after the first such iteration. */
static inline MTLM_HOST_DEVICE void mtlm_control_advance(
    const union mtlm_attr *attr, double square, const double *extra,
    int64_t samples, double *control, double *report)
{
    const struct mtlm_lr_schedule *schedule = &attr->control.lr_schedule;
    const struct mtlm_loss_scale *scale = &attr->control.scale;
    const double times = control[MTLM_CONTROL_LOSS_SCALE];
    const double clip = attr->control.clip, norm = sqrt(square) / times;
    const bool loss =
        isfinite(extra[MTLM_STATUS_LOSS]) && isfinite(extra[MTLM_STATUS_SOP]);
    const bool finite = loss && isfinite(norm);
    const bool overflow = scale->dynamic
                              ? !finite && times > scale->min
                              : loss && !isfinite(norm) && times != 1;

    control[MTLM_CONTROL_NORM] = norm;
    for (int i = 0; i < MTLM_LOSS_COUNT; i++)
        control[MTLM_CONTROL_LOSS + i] = extra[MTLM_STATUS_LOSS + i];
    control[MTLM_CONTROL_ZEROS] = extra[MTLM_STATUS_ZEROS];
    control[MTLM_CONTROL_STOP] = extra[MTLM_STATUS_STOP];
    control[MTLM_CONTROL_LR] =
        mtlm_learning_rate(schedule, control[MTLM_CONTROL_CLOCK]);
    control[MTLM_CONTROL_WEIGHT_DECAY] =
        mtlm_weight_decay(schedule, control[MTLM_CONTROL_CLOCK]);
    control[MTLM_CONTROL_CLIP] =
        (clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1) / times;
    control[MTLM_CONTROL_APPLY] =
        finite
        && !(attr->control.nan_is_final && control[MTLM_CONTROL_NAN] > 0);
    control[MTLM_CONTROL_NAN] += !finite && !overflow;
    if (control[MTLM_CONTROL_APPLY] != 0) {
        control[MTLM_CONTROL_STEP]++;
        control[MTLM_CONTROL_CLOCK] += samples;
    } else {
        control[MTLM_CONTROL_SKIPPED]++;
    }
    mtlm_loss_scale_advance(scale, !finite, control);
    control[MTLM_CONTROL_NEXT_LR] =
        mtlm_learning_rate(schedule, control[MTLM_CONTROL_CLOCK]);
    control[MTLM_CONTROL_ITERATION]++;
    control[MTLM_CONTROL_SAMPLES] += samples;
    control[MTLM_CONTROL_BATCH] = samples;
    for (int i = 0; i < MTLM_CONTROL_COUNT; i++)
        report[i] = control[i];
}

#endif /* MTLM_CONTROL_H */
