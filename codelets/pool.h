#ifndef MTLM_POOL_H
#define MTLM_POOL_H

/* Operands of the pool operations, for C and CUDA kernels.  Pooling takes the
 * first row of each sample.  pool.c has formulas and shapes. */

/* pool_fwd */
enum { POOL_X, POOL_Y, POOL_COUNT };
/* pool_bwd */
enum { POOLB_DY, POOLB_DX, POOLB_COUNT };

#endif /* MTLM_POOL_H */
