#ifndef MTLM_BIAS_GELU_H
#define MTLM_BIAS_GELU_H

/* Operands of the bias_gelu operations, for C and CUDA kernels. */
enum { BG_X, BG_BIAS, BG_Y, BG_COUNT };
enum { BGB_X, BGB_BIAS, BGB_DY, BGB_DX, BGB_DBIAS, BGB_COUNT };

#endif /* MTLM_BIAS_GELU_H */
