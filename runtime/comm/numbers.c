/* A queue of numbers in an array that grows only when it is half full. */

#include "config.h"

#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/comm/numbers.h"

void mtlm_numbers_push(struct mtlm_numbers *numbers, int64_t number)
{
    if (numbers->first + numbers->n == numbers->capacity) {
        if (numbers->n)
            memmove(numbers->number, numbers->number + numbers->first,
                    numbers->n * sizeof(*numbers->number));
        numbers->first = 0;
        if (2 * numbers->n >= numbers->capacity) {
            numbers->capacity = 2 * numbers->capacity + 64;
            numbers->number = mtlm_realloc(numbers->number, numbers->capacity,
                                           sizeof(*numbers->number));
        }
    }
    numbers->number[numbers->first + numbers->n++] = number;
}

int64_t mtlm_numbers_first(const struct mtlm_numbers *numbers)
{
    return numbers->n ? numbers->number[numbers->first] : -1;
}

void mtlm_numbers_pop(struct mtlm_numbers *numbers)
{
    numbers->first++;
    numbers->n--;
}
