#ifndef MTLM_BIAS_DROPOUT_ADD_H
#define MTLM_BIAS_DROPOUT_ADD_H

/* Operands of the bias_dropout_add operations, for C and CUDA kernels.
 * bias_dropout_add.c has formulas and shapes. */

/* bias_dropout_add_fwd */
enum { BDA_X, BDA_BIAS, BDA_RESIDUAL, BDA_Y, BDA_COUNT };
/* bias_dropout_add_bwd */
enum { BDAB_DY, BDAB_DX, BDAB_DBIAS, BDAB_COUNT };

#endif /* MTLM_BIAS_DROPOUT_ADD_H */
