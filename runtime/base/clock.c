/* The offset between the clocks of two hosts, over time. */
#include "config.h"

#include "runtime/base/clock.h"

int64_t mtlm_clock_offset(const struct mtlm_clock_offsets *offsets,
                          int64_t at_ns)
{
    const int64_t *at = offsets->at_ns, *offset = offsets->offset_ns;

    if (at_ns <= at[0])
        return offset[0];
    if (at_ns >= at[1])
        return offset[1];
    return offset[0]
           + (int64_t) ((double) (at_ns - at[0]) / (at[1] - at[0])
                        * (offset[1] - offset[0]));
}
