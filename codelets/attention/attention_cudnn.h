#ifndef MTLM_ATTENTION_CUDNN_H
#define MTLM_ATTENTION_CUDNN_H

/* Attention by cuDNN: 16-bit values, whole samples, heads of a multiple of 8
 * elements, and an attr.attention.backend that permits cuDNN
 * (mtlm_attention_fused_allowed()).  cuDNN must have deterministic algorithms
 * for forward and backward whose workspace fits MTLM_ATTENTION_FUSED_BYTES and
 * the GPU's free memory.
 *
 * cuDNN's dropout masks differ from the masks of the CPU and of our own
 * kernels.  cuDNN draws a Philox number per score of the call, with offset 0.
 * The seed comes from the job's dropout seed, layer, site, first sample and
 * first head of the call.  A recomputation draws the same numbers.  Another
 * microbatch size or tensor-parallel size draws other numbers.
 *
 * Forward and backward of a shape share one choice between cuDNN and our own
 * kernels. */

#include "codelets/op.h"
#include "runtime/machine/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether cuDNN computes attention_fwd and attention_bwd of this shape.
 * cuDNN never computes attention_bwd_add. */
bool mtlm_attention_cudnn_takes(const struct mtlm_call *call,
                                const struct mtlm_context *context);

/* Enqueues the forward.  Returns false, with nothing enqueued, if cuDNN does
 * not compute the call. */
bool mtlm_attention_cudnn_fwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context);

/* Enqueues the backward.  Returns false, with nothing enqueued, if cuDNN does
 * not compute the call. */
bool mtlm_attention_cudnn_bwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context);

/* Sets `to` [2] to seed and offset (attention_cudnn.cu). */
void mtlm_attention_cudnn_seed(int64_t *to, uint64_t seed, uint64_t offset,
                               cudaStream_t stream);

/* Sets the padding of x [s, b, cols] (16-bit values) to 0, and the padding of
 * lse [b, heads, s] to MTLM_ATTENTION_NO_LSE (attention_cudnn.cu).  lse may be
 * NULL. */
void mtlm_attention_cudnn_clear(void *x, int64_t cols, float *lse,
                                const struct mtlm_call *call,
                                const void *lengths, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ATTENTION_CUDNN_H */
