#ifndef MTLM_BIAS_GELU_H
#define MTLM_BIAS_GELU_H

/* Operands of the bias_gelu operations, for their C and CUDA kernels. */
enum { BG_X, BG_BIAS, BG_Y, BG_COUNT };
enum { BGB_X, BGB_BIAS, BGB_DY, BGB_DX, BGB_DBIAS, BGB_COUNT };

/* gelu(v) = v / 2 (1 + tanh(u)) = v / (1 + e^(-2u)),
 * u = sqrt(2 / pi) (v + 0.044715 v^3). */
#define MTLM_GELU_SCALE 0.79788456080286535588
#define MTLM_GELU_CUBIC 0.044715

#endif /* MTLM_BIAS_GELU_H */
