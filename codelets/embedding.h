#ifndef MTLM_EMBEDDING_H
#define MTLM_EMBEDDING_H

/* Operands of the embedding operations, for C and CUDA kernels. */
enum { EMB_TOKENS, EMB_WORD, EMB_Y, EMB_COUNT };
enum { EMBW_TOKENS, EMBW_DY, EMBW_DWORD, EMBW_COUNT };

#endif /* MTLM_EMBEDDING_H */
