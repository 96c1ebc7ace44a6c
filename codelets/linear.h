#ifndef MTLM_LINEAR_H
#define MTLM_LINEAR_H

/* Operands of the linear operations, for C and CUDA kernels.  linear.c has
 * formulas and shapes. */

#include "codelets/op.h"

/* linear_fwd */
enum { LIN_X, LIN_WEIGHT, LIN_Y, LIN_COUNT };
/* linear_bias_fwd */
enum { LINB_X, LINB_WEIGHT, LINB_BIAS, LINB_Y, LINB_COUNT };
/* linear_dgrad, linear_dgrad_add */
enum { LIND_DY, LIND_WEIGHT, LIND_DX, LIND_COUNT };
/* linear_wgrad; linear_bias_wgrad has one operand more: dbias */
enum { LINW_X, LINW_DY, LINW_DWEIGHT, LINW_COUNT, LINW_DBIAS = LINW_COUNT };

/* Returns whether linear_wgrad and linear_bias_wgrad add to dweight; else they
 * set dweight. */
static inline bool mtlm_linear_adds(const struct mtlm_call *call,
                                    const struct mtlm_context *context)
{
    return !(call->sets && context->first);
}

#endif /* MTLM_LINEAR_H */
