#ifndef MTLM_ATTENTION_CUDNN_H
#define MTLM_ATTENTION_CUDNN_H

/* Attention by cuDNN: 16-bit values, whole samples, heads of a multiple of 8
 * elements.  The library must have deterministic algorithms for forward and
 * backward within MTLM_ATTENTION_FUSED_BYTES, and attr.attention.backend must
 * permit cuDNN.
 *
 * Dropout differs from the CPU's and our own kernels'.  cuDNN draws a Philox
 * number per score of the call, with offset 0.  The seed is drawn from
 * (dropout's seed; layer, site; first sample of the call, first head).  A
 * recomputation draws the same numbers; another microbatch size or
 * tensor-parallel size draws others.
 *
 * The choice depends on the shape and the machine's GPUs only, so forward and
 * backward agree. */

#include "codelets/op.h"
#include "runtime/machine/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether cuDNN computes the operations on whole samples.  The backward
 * that adds to a gradient has no such kernel. */
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

/* Sets to [2] = seed and offset (attention_cudnn.cu). */
void mtlm_attention_cudnn_seed(int64_t *to, uint64_t seed, uint64_t offset,
                               cudaStream_t stream);

/* Sets x [s, b, cols], of 16 bits, to 0 in the padding, and lse [b, heads, s]
 * to MTLM_ATTENTION_NO_LSE there; lse may be NULL (attention_cudnn.cu). */
void mtlm_attention_cudnn_clear(void *x, int64_t cols, float *lse,
                                const struct mtlm_call *call,
                                const void *lengths, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ATTENTION_CUDNN_H */
