#ifndef MTLM_ACCURACY_H
#define MTLM_ACCURACY_H

#include <stdbool.h>
#include <stdint.h>

/* How many of the answers are right. */
struct mtlm_accuracy {
    int64_t right, all;
};

/* Returns the class or choice that logits [n >= 1] answer: the number of the
 * largest one, of equal ones the first.  Returns -1 if one is a NaN. */
int64_t mtlm_accuracy_answer(const float *logit, int64_t n);

/* Counts an item. */
void mtlm_accuracy_add(struct mtlm_accuracy *accuracy, bool right);

/* Returns the share of right answers in per cent; 0 without items. */
double mtlm_accuracy_percent(const struct mtlm_accuracy *accuracy);

#endif /* MTLM_ACCURACY_H */
