#ifndef MTLM_CLOCK_H
#define MTLM_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns nanoseconds on this host's monotonic clock. */
static inline int64_t mtlm_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif /* MTLM_CLOCK_H */
