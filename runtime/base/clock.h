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

/* Another host's clock minus this host's, at two moments of this host's clock:
 * clocks run at rates that differ by some parts in a million. */
struct mtlm_clock_offsets {
    int64_t at_ns[2]; /* the second is not before the first */
    int64_t offset_ns[2];
};

/* Returns the offset at a moment: on the line between the two measurements;
 * before the first and after the second: theirs. */
int64_t mtlm_clock_offset(const struct mtlm_clock_offsets *offsets,
                          int64_t at_ns);

#endif /* MTLM_CLOCK_H */
