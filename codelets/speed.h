#ifndef MTLM_SPEED_H
#define MTLM_SPEED_H

#include <stdint.h>

/* Returns the FLOP/s of a product [rows, hidden] x [hidden, hidden] on this
 * core: the median of a few products, 0.4 s in all at most.  Larger sizes than
 * [512, 2560] are measured at these.  An estimate for messages; nothing is
 * decided by it. */
double mtlm_speed_flops(int64_t rows, int64_t hidden);

#endif /* MTLM_SPEED_H */
