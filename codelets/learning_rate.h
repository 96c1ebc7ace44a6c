#ifndef MTLM_LEARNING_RATE_H
#define MTLM_LEARNING_RATE_H

#include "codelets/op.h"

/* The learning rate after step optimizer steps, as in Megatron-LM: up to
 * warmup_iterations lr step / warmup_iterations (so the very first step has
 * 0 where there is a warm-up), then lr (constant), or down to min_lr at
 * decay_iterations in a line or half a cosine, and min_lr from there on. */
double mtlm_learning_rate(const struct mtlm_lr_schedule *schedule,
                          int64_t step);

#endif /* MTLM_LEARNING_RATE_H */
