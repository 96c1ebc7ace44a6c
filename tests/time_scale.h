/* What multiplies the limits of time in tests: tests/time_scale.sh. */
#ifndef MTLM_TESTS_TIME_SCALE_H
#define MTLM_TESTS_TIME_SCALE_H

#include <stdlib.h>

static inline int time_scale(void)
{
    const char *text = getenv("TIME_SCALE");

    return text && atoi(text) > 0 ? atoi(text) : 3;
}

#endif /* MTLM_TESTS_TIME_SCALE_H */
