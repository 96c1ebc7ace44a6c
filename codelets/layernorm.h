#ifndef MTLM_LAYERNORM_H
#define MTLM_LAYERNORM_H

/* Operands of the layernorm operations, for C and CUDA kernels.  layernorm.c
 * has formulas and shapes. */

/* layernorm_fwd */
enum { LN_X, LN_GAMMA, LN_BETA, LN_Y, LN_MEAN, LN_RSTD, LN_COUNT };

/* layernorm_bwd, layernorm_bwd_add */
enum {
    LNB_X,
    LNB_GAMMA,
    LNB_MEAN,
    LNB_RSTD,
    LNB_DY,
    LNB_DX,
    LNB_DGAMMA,
    LNB_DBETA,
    LNB_COUNT
};

#endif /* MTLM_LAYERNORM_H */
