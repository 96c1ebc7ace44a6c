#ifndef MTLM_ATTENTION_CUDNN_H
#define MTLM_ATTENTION_CUDNN_H

#include "codelets/op.h"
#include "runtime/machine/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Attention by cuDNN: of values of 16 bits, whole samples, heads of a multiple
 * of 8 elements, where the library has a way for forward and for backward in
 * MTLM_ATTENTION_FUSED_BYTES that it does not call nondeterministic; unless
 * attr.attention.backend says that our own kernels are to be taken.
 *
 * Dropout is not the CPU's and our own kernels' then: cuDNN draws a Philox
 * number for each score of the call, with offset 0 and with a seed drawn from
 * (dropout's seed; layer, site; first sample of the call, first head).  A
 * recomputation draws the same; another size of the microbatch or another
 * number of tensor-parallel ranks does not.
 *
 * Which is taken is the same each time for a shape on the GPUs of a machine, so
 * that forward and backward agree. */

/* Whether the operations on whole samples are; backward of what adds to a
 * gradient has no such kernel. */
bool mtlm_attention_cudnn_takes(const struct mtlm_call *call,
                                const struct mtlm_context *context);

/* Both return false, with nothing enqueued, where they are not. */
bool mtlm_attention_cudnn_fwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context);
bool mtlm_attention_cudnn_bwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context);

/* In attention_cudnn.cu: to [2] = seed and offset. */
void mtlm_attention_cudnn_seed(int64_t *to, uint64_t seed, uint64_t offset,
                               cudaStream_t stream);

/* x [s, b, cols], of 16 bits, = 0 in the padding; and lse [b, heads, s], unless
 * NULL, MTLM_ATTENTION_NO_LSE. */
void mtlm_attention_cudnn_clear(void *x, int64_t cols, float *lse,
                                const struct mtlm_call *call,
                                const void *lengths, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_ATTENTION_CUDNN_H */
