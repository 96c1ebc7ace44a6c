#ifndef MTLM_CONTROL_SLOTS_H
#define MTLM_CONTROL_SLOTS_H

/* Slots of the tensors that carry losses, status and control through an
 * iteration. */

/* The loss tensor (double): sums over this rank's microbatches.  The share of
 * struct mtlm_context weights each microbatch. */
enum mtlm_loss_slot {
    MTLM_LOSS_LM,  /* language model, or fine-tuning task */
    MTLM_LOSS_SOP, /* sentence order prediction (BERT) */
    /* Share of correct sentence orders, or of a task's correct classes or
     * choices; number of samples whose labels are all the model's answers
     * (codelets/hits.c). */
    MTLM_LOSS_SOP_HITS,
    MTLM_LOSS_COUNT
};

/* The status vector (double): n_sums sums of squared gradients, then the slots
 * below.  Losses are in the order of enum mtlm_loss_slot. */
enum mtlm_status_slot {
    MTLM_STATUS_LOSS,
    MTLM_STATUS_SOP,
    MTLM_STATUS_SOP_HITS,
    MTLM_STATUS_STOP,  /* mtlm_stop_requested() */
    MTLM_STATUS_ZEROS, /* gradient elements equal to 0, if counted */
    MTLM_STATUS_EXTRA  /* number of slots */
};

/* Slots of the control tensor (double), and of the report: the host's copy. */
enum mtlm_control_slot {
    MTLM_CONTROL_ITERATION,    /* iterations done, also without a step */
    MTLM_CONTROL_STEP,         /* optimizer steps done */
    MTLM_CONTROL_SAMPLES,      /* samples consumed by all iterations */
    MTLM_CONTROL_CLOCK,        /* samples of the iterations with a step, of
                                * today's batch (checkpoint.h) */
    MTLM_CONTROL_BATCH,        /* samples of this iteration */
    MTLM_CONTROL_LR,           /* learning rate of this iteration */
    MTLM_CONTROL_WEIGHT_DECAY, /* weight decay of this iteration */
    MTLM_CONTROL_NEXT_LR,      /* learning rate of the next iteration */
    MTLM_CONTROL_CLIP, /* factor on the gradients: clipping / loss scale */
    MTLM_CONTROL_NORM, /* gradient norm before clipping */
    MTLM_CONTROL_LOSS,
    MTLM_CONTROL_SOP,
    MTLM_CONTROL_SOP_HITS,
    MTLM_CONTROL_ZEROS,   /* gradient elements equal to 0 */
    MTLM_CONTROL_SKIPPED, /* iterations without a step, in total */
    /* Iterations with a norm or loss that is not finite, without overflows of
     * the loss scale. */
    MTLM_CONTROL_NAN,
    MTLM_CONTROL_APPLY, /* 1: the optimizer steps; 0: no step */
    MTLM_CONTROL_STOP,  /* sum of mtlm_stop_requested() over the ranks */
    /* Factor on the losses from which gradients are computed.  The report holds
     * the factor of the next iteration. */
    MTLM_CONTROL_LOSS_SCALE,
    MTLM_CONTROL_GROWTH,     /* iterations since a scale change or overflow */
    MTLM_CONTROL_HYSTERESIS, /* overflows until the scale halves */
    MTLM_CONTROL_COUNT
};

#endif /* MTLM_CONTROL_SLOTS_H */
