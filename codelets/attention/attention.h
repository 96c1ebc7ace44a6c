#ifndef MTLM_ATTENTION_H
#define MTLM_ATTENTION_H

/* Operands and limits of the attention operations, for C and CUDA kernels. */

#include <float.h>

/* attention_fwd */
enum { ATT_QKV, ATT_LENGTHS, ATT_Y, ATT_LSE };
/* attention_bwd, attention_bwd_add */
enum { ATTB_QKV, ATTB_LENGTHS, ATTB_Y, ATTB_LSE, ATTB_DY, ATTB_DQKV };
/* attention_more_fwd */
enum { ATTM_QKV_Q, ATTM_QKV_K, ATTM_LENGTHS, ATTM_Y, ATTM_LSE };
/* attention_more_bwd */
enum {
    ATTMB_QKV_Q,
    ATTMB_QKV_K,
    ATTMB_LENGTHS,
    ATTMB_Y,
    ATTMB_LSE,
    ATTMB_DY,
    ATTMB_DQKV_Q,
    ATTMB_DQKV_K
};

/* Maximum elements of a head in the CUDA kernels. */
enum { MTLM_ATTENTION_GPU_D = 256 };

/* lse of the padding.  Backward kernels take exp(score - lse), cuDNN's perhaps
 * before masking: the result must be 0, not infinite.  A kernel with powers of
 * 2 multiplies lse by log2 e: the product must stay finite, or masked elements
 * become NaN. */
#define MTLM_ATTENTION_NO_LSE (FLT_MAX / 2)

#endif /* MTLM_ATTENTION_H */
