#ifndef MTLM_LINEAR_GELU_H
#define MTLM_LINEAR_GELU_H

/* Operands of linear layers with GELU, for C and CUDA kernels.  linear_gelu.c
 * has formulas and shapes. */

/* linear_gelu_fwd; the operands before LG_PRE as in linear_bias_fwd */
enum { LG_X, LG_WEIGHT, LG_BIAS, LG_PRE, LG_Y, LG_COUNT };
/* gelu_linear_fwd */
enum { GL_X, GL_WEIGHT, GL_PRE, GL_Y, GL_COUNT };
/* gelu_linear_dgrad */
enum { GLD_DY, GLD_WEIGHT, GLD_PRE, GLD_DPRE, GLD_COUNT };

#endif /* MTLM_LINEAR_GELU_H */
