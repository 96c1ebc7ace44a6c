/* How many of the answers are right. */

#include "config.h"

#include <math.h>

#include "models/task/accuracy.h"

int64_t mtlm_accuracy_answer(const float *logit, int64_t n)
{
    int64_t best = 0;

    for (int64_t i = 0; i < n; i++)
        if (isnan(logit[i]))
            return -1;
        else if (logit[i] > logit[best])
            best = i;
    return best;
}

void mtlm_accuracy_add(struct mtlm_accuracy *accuracy, bool right)
{
    accuracy->right += right;
    accuracy->all++;
}

double mtlm_accuracy_percent(const struct mtlm_accuracy *accuracy)
{
    return accuracy->all > 0
               ? 100.0 * (double) accuracy->right / (double) accuracy->all
               : 0;
}
