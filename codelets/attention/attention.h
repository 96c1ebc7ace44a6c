#ifndef MTLM_ATTENTION_H
#define MTLM_ATTENTION_H

#include <float.h>

/* Operands, for the C and CUDA kernels. */

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

/* A head's elements at most, in the CUDA kernels. */
enum { MTLM_ATTENTION_GPU_D = 256 };

/* What lse is in the padding.  Backward kernels take exp(score - lse), cuDNN's
 * maybe before they mask it: that is to be 0, not infinite.  One that takes
 * powers of 2 multiplies it by log2 e: it must stay finite, or what is masked
 * there becomes a NaN. */
#define MTLM_ATTENTION_NO_LSE (FLT_MAX / 2)

#endif /* MTLM_ATTENTION_H */
