/* What cuDNN's attention leaves to do: seeds, and the padding, whose content
 * cuDNN's documentation does not define. */

#include "config.h"

#include "codelets/attention/attention.h"
#include "codelets/attention/attention_cudnn.h"
#include "codelets/launch.cuh"

static __global__ void seed_of_mask(int64_t *to, int64_t seed, int64_t offset)
{
    to[0] = seed;
    to[1] = offset;
}

void mtlm_attention_cudnn_seed(int64_t *to, uint64_t seed, uint64_t offset,
                               cudaStream_t stream)
{
    mtlm_launch(seed_of_mask, dim3(1), dim3(1), 0, stream, to, (int64_t) seed,
                (int64_t) offset);
}

/* One block per position of a sample; most blocks have nothing to do. */
static __global__ void clear_padding(uint16_t *x, int64_t cols, float *lse,
                                     int heads, const int *lengths)
{
    const int64_t row = blockIdx.x, rows = gridDim.x;
    const int64_t sample = blockIdx.y, samples = gridDim.y;

    if (row < lengths[sample])
        return;
    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x)
        x[(row * samples + sample) * cols + c] = 0;
    for (int n = threadIdx.x; lse && n < heads; n += blockDim.x)
        lse[(sample * heads + n) * rows + row] = MTLM_ATTENTION_NO_LSE;
}

void mtlm_attention_cudnn_clear(void *x, int64_t cols, float *lse,
                                const struct mtlm_call *call,
                                const void *lengths, cudaStream_t stream)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;

    mtlm_launch(clear_padding, dim3(dim[0], dim[1]), dim3(128), 0, stream,
                (uint16_t *) x, cols, lse, call->attr.attention.heads,
                (const int *) lengths);
}
