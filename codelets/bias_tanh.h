#ifndef MTLM_BIAS_TANH_H
#define MTLM_BIAS_TANH_H

/* Operands of the bias_tanh operations, for C and CUDA kernels. */
enum { BT_X, BT_BIAS, BT_Y, BT_COUNT };
enum { BTB_Y, BTB_DY, BTB_DX, BTB_DBIAS, BTB_COUNT };

#endif /* MTLM_BIAS_TANH_H */
