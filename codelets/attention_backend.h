#ifndef MTLM_ATTENTION_BACKEND_H
#define MTLM_ATTENTION_BACKEND_H

/* The choice among the implementations of attention. */

/* Which kernels compute attention on a GPU.  AUTO: cuDNN's kernels where
 * possible, else our own.  FUSED: cuDNN's kernels, else the job ends.  The
 * other names are Megatron-LM's and select our own kernels.  CPUs have one
 * implementation and ignore the backend. */
enum mtlm_attention_backend {
    MTLM_ATTENTION_AUTO,
    MTLM_ATTENTION_FLASH,
    MTLM_ATTENTION_FUSED,
    MTLM_ATTENTION_UNFUSED,
    MTLM_ATTENTION_LOCAL,
};

#endif /* MTLM_ATTENTION_BACKEND_H */
