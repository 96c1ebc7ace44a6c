#ifndef MTLM_BIAS_GELU_H
#define MTLM_BIAS_GELU_H

/* Operands of the bias_gelu operations, for C and CUDA kernels.  bias_gelu.c
 * has formulas and shapes. */

/* bias_gelu_fwd */
enum { BG_X, BG_BIAS, BG_Y, BG_COUNT };
/* bias_gelu_bwd */
enum { BGB_X, BGB_BIAS, BGB_DY, BGB_DX, BGB_DBIAS, BGB_COUNT };

#endif /* MTLM_BIAS_GELU_H */
