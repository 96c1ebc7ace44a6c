#ifndef MTLM_ACCURACY_H
#define MTLM_ACCURACY_H

#include <stdint.h>

/* How many of the answers are right. */
struct mtlm_accuracy {
    int64_t right, all;
};

/* Counts an item with these logits [n >= 1], whose class or choice is `right`.
 * The answer is the largest logit, of equal ones the first. */
void mtlm_accuracy_add(struct mtlm_accuracy *accuracy, const float *logit,
                       int64_t n, int64_t right);

/* Returns the share of right answers in per cent; 0 without items. */
double mtlm_accuracy_percent(const struct mtlm_accuracy *accuracy);

#endif /* MTLM_ACCURACY_H */
