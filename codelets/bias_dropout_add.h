#ifndef MTLM_BIAS_DROPOUT_ADD_H
#define MTLM_BIAS_DROPOUT_ADD_H

/* Operands of the bias_dropout_add operations, for C and CUDA kernels. */
enum { BDA_X, BDA_BIAS, BDA_RESIDUAL, BDA_Y, BDA_COUNT };
enum { BDAB_DY, BDAB_DX, BDAB_DBIAS, BDAB_COUNT };

#endif /* MTLM_BIAS_DROPOUT_ADD_H */
