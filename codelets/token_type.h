#ifndef MTLM_TOKEN_TYPE_H
#define MTLM_TOKEN_TYPE_H

/* Operands of token_type_fwd, for C and CUDA kernels. */
enum { TT_TYPES, TT_TABLE, TT_X, TT_COUNT };

#endif /* MTLM_TOKEN_TYPE_H */
