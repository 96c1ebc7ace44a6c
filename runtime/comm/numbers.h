#ifndef MTLM_NUMBERS_H
#define MTLM_NUMBERS_H

#include <stdint.h>

/* A queue of numbers, first in, first out.  Zeroed: empty.  The owner frees
 * number. */
struct mtlm_numbers {
    int64_t *number; /* [capacity] */
    int first, n;    /* the queue is number[first .. first + n - 1] */
    int capacity;
};

/* Appends a number. */
void mtlm_numbers_push(struct mtlm_numbers *numbers, int64_t number);

/* Returns the first number; -1: empty. */
int64_t mtlm_numbers_first(const struct mtlm_numbers *numbers);

/* Removes the first number. */
void mtlm_numbers_pop(struct mtlm_numbers *numbers);

#endif /* MTLM_NUMBERS_H */
