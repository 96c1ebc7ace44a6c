#ifndef MTLM_SPEED_H
#define MTLM_SPEED_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the FLOP/s of a product [rows, hidden] x [hidden, hidden] on this
 * core: the median of a few products, 0.4 s in all at most.  bf16: of products
 * as --bf16 computes them.  Larger sizes than [512, 2560] are measured at
 * these.  An estimate for messages; nothing is decided by it. */
double mtlm_speed_flops(bool bf16, int64_t rows, int64_t hidden);

#endif /* MTLM_SPEED_H */
