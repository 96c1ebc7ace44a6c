#ifndef MTLM_SETTINGS_H
#define MTLM_SETTINGS_H

/* Settings of a training run that operations take as attributes: learning rate,
 * weight decay and loss scale. */

#include <stdbool.h>
#include <stdint.h>

/* Styles of the learning rate and of the weight decay (Megatron-LM's). */
enum mtlm_lr_style {
    MTLM_LR_CONSTANT,
    MTLM_LR_LINEAR,
    MTLM_LR_COSINE,
    MTLM_LR_INVERSE_SQUARE_ROOT,
    MTLM_LR_WSD, /* warm-up, stable, decay */
};
enum mtlm_wsd_style { MTLM_WSD_EXPONENTIAL, MTLM_WSD_LINEAR, MTLM_WSD_COSINE };
enum mtlm_weight_decay_style {
    MTLM_WEIGHT_DECAY_CONSTANT,
    MTLM_WEIGHT_DECAY_LINEAR,
    MTLM_WEIGHT_DECAY_COSINE,
};

/* Schedule of learning rate and weight decay over a clock
 * (codelets/learning_rate.h).  The clock counts the samples of the optimizer's
 * steps. */
struct mtlm_lr_schedule {
    enum mtlm_lr_style style;
    double lr, min_lr;
    double warmup_init;    /* learning rate at the begin of the warm-up */
    double warmup_samples; /* not an integer if a fraction of the decay */
    double decay_samples;  /* end of the decay, on the clock */
    enum mtlm_wsd_style wsd_style;
    double wsd_samples; /* WSD: length of the final decay, on the clock */

    enum mtlm_weight_decay_style weight_decay_style;
    double weight_decay;     /* at the begin */
    double end_weight_decay; /* after weight_decay_samples */
    double weight_decay_samples;
};

/* Loss scaling, by Megatron-LM's rules.  The loss scale is a factor on the loss
 * that keeps gradients representable in fp16.  The optimizer does not step if
 * losses or gradients overflow.
 *
 * A dynamic scale changes.  Overflow number `hysteresis` halves the scale, and
 * so does each further overflow, down to min.  `window` consecutive iterations
 * without overflow double the scale; the count of overflows then restarts. */
struct mtlm_loss_scale {
    double initial; /* 0 means 1 */
    double min;
    int64_t window; /* iterations */
    int hysteresis; /* overflows */
    bool dynamic;
};

#endif /* MTLM_SETTINGS_H */
