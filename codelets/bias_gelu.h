#ifndef MTLM_BIAS_GELU_H
#define MTLM_BIAS_GELU_H

/* Operands of the bias_gelu operations, for their C and CUDA kernels. */
enum { BG_X, BG_BIAS, BG_Y, BG_COUNT };
enum { BGB_X, BGB_BIAS, BGB_DY, BGB_DX, BGB_DBIAS, BGB_COUNT };

/* attr.gelu.exact: gelu(v) = v P(v) with P(v) = (1 + erf(v / sqrt(2))) / 2, as
 * torch.nn.functional.gelu: what Megatron-LM has in its MLP without
 * --bias-gelu-fusion, and always in BERT's language model head.
 *
 * Otherwise, as its fused kernel, gelu(v) = v / 2 (1 + tanh(u)) = v / (1 +
 * e^(-2u)), u = sqrt(2 / pi) (v + 0.044715 v^3). */
#define MTLM_GELU_SCALE 0.79788456080286535588
#define MTLM_GELU_CUBIC 0.044715

/* 1 / sqrt(2), and the normal density at 0. */
#define MTLM_SQRT_HALF 0.70710678118654752440
#define MTLM_NORMAL_0 0.39894228040143267794

#endif /* MTLM_BIAS_GELU_H */
