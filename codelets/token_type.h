#ifndef MTLM_TOKEN_TYPE_H
#define MTLM_TOKEN_TYPE_H

/* Operands of token_type_fwd, for C and CUDA kernels.  token_type.c has formula
 * and shapes. */
enum { TT_TYPES, TT_TABLE, TT_X, TT_COUNT };

#endif /* MTLM_TOKEN_TYPE_H */
