#include "config.h"

#include <math.h>

#include "codelets/learning_rate.h"

static const double pi = 3.14159265358979323846;

/* What is left of the way from the full to the smallest learning rate. */
static double wsd_left(const struct mtlm_schedule *schedule, double n)
{
    const double begin = schedule->decay_samples - schedule->wsd_samples;
    const double done = (n - begin) / schedule->wsd_samples;

    if (n <= begin)
        return 1;
    switch (schedule->wsd_style) {
    case MTLM_WSD_LINEAR:
        return 1 - done;
    case MTLM_WSD_COSINE:
        return 0.5 * (cos(pi * done) + 1);
    default:
        return 2 * pow(0.5, done) - 1;
    }
}

double mtlm_learning_rate(const struct mtlm_schedule *schedule, double n)
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
        return least + (lr - least) * (0.5 * (cos(pi * done) + 1));
    case MTLM_LR_INVERSE_SQUARE_ROOT:
        return fmax(least, lr * sqrt(fmax(warmup, 1) / fmax(n, 1)));
    default:
        return least + (lr - least) * wsd_left(schedule, n);
    }
}

double mtlm_weight_decay(const struct mtlm_schedule *schedule, double n)
{
    const double first = schedule->weight_decay;
    const double last = schedule->end_weight_decay;
    const double done = n / schedule->weight_decay_samples;

    if (schedule->weight_decay_style == MTLM_WEIGHT_DECAY_CONSTANT
        || n > schedule->weight_decay_samples)
        return last;
    if (schedule->weight_decay_style == MTLM_WEIGHT_DECAY_LINEAR)
        return first + (last - first) * done;
    return first + (last - first) * (0.5 * (1 - cos(pi * done)));
}
