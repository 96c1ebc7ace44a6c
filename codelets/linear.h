#ifndef MTLM_LINEAR_H
#define MTLM_LINEAR_H

/* Operands of the linear operations, for C and CUDA kernels.  linear.c has
 * formulas and shapes. */

/* linear_fwd */
enum { LIN_X, LIN_WEIGHT, LIN_Y, LIN_COUNT };
/* linear_bias_fwd */
enum { LINB_X, LINB_WEIGHT, LINB_BIAS, LINB_Y, LINB_COUNT };
/* linear_dgrad, linear_dgrad_add */
enum { LIND_DY, LIND_WEIGHT, LIND_DX, LIND_COUNT };
/* linear_wgrad; linear_bias_wgrad has one operand more: dbias */
enum { LINW_X, LINW_DY, LINW_DWEIGHT, LINW_COUNT, LINW_DBIAS = LINW_COUNT };

#endif /* MTLM_LINEAR_H */
