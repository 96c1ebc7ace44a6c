#ifndef MTLM_SPEED_H
#define MTLM_SPEED_H

/* Returns the FLOP/s of a matrix product on this core: the median of a few
 * products of the size of a layer's, 0.1 s in all.  An estimate for messages;
 * nothing is decided by it. */
double mtlm_speed_flops(void);

#endif /* MTLM_SPEED_H */
