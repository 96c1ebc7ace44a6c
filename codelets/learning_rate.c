#include "config.h"

#include <math.h>

#include "codelets/learning_rate.h"

double mtlm_learning_rate(const struct mtlm_lr_schedule *schedule, int64_t step)
{
    const int64_t warmup = schedule->warmup_iterations;
    const int64_t decay = schedule->decay_iterations;
    double done;

    if (warmup > 0 && step <= warmup)
        return schedule->lr * step / warmup;
    if (schedule->style == MTLM_LR_CONSTANT)
        return schedule->lr;
    if (step >= decay)
        return schedule->min_lr;
    done = (double) (step - warmup) / (decay - warmup);
    return schedule->min_lr
           + (schedule->lr - schedule->min_lr)
                 * (schedule->style == MTLM_LR_LINEAR
                        ? 1 - done
                        : 0.5 * (cos(3.14159265358979323846 * done) + 1));
}
